"""The figures of an earlier run, and what has changed since."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spark_jobs.errors import JobError
from spark_jobs.page import section, table
from spark_jobs.totals import Totals

FIGURES = "report.json"
_TOTALS = ("acknowledged", "duplicates", "deleted", "out_of_order", "displacement")


class NoFigures(JobError):
    """There is no earlier run to compare with."""


def read_figures(path: str) -> dict[str, Any]:
    """The figures of an earlier run, from its output folder or from the JSON file itself. Raises NoFigures."""
    file = Path(path) / FIGURES if Path(path).is_dir() else Path(path)
    try:
        figures: dict[str, Any] = json.loads(file.read_text())
        missing = [name for name in _TOTALS if not _is_figure(figures["totals"].get(name))]
        lost = figures["verdict"].get("lost", "")
        missing += ["lost"] if lost is not None and not _is_figure(lost) else []
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise NoFigures(f"There are no figures in {file}: name the output folder of a run.") from error
    if missing:
        raise NoFigures(f"{file} lacks {', '.join(missing)}: another version wrote it; audit that run again.")
    return figures


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def compared(totals: Totals, lost: int | None, before: Mapping[str, Any]) -> str:
    """A section of the report. Unproven losses are not compared."""
    pairs = [("lost", before["verdict"]["lost"], lost)]
    pairs += [(name.replace("_", " "), before["totals"][name], getattr(totals, name)) for name in _TOTALS]
    rows = [
        {"figure": name, "then": then, "now": now, "change": None if then is None or now is None else now - then}
        for name, then, now in pairs
    ]
    head = {"figure": "figure", "then": str(before.get("title", "then")), "now": "now", "change": "change"}
    return section("Against an earlier run", table(head, rows))
