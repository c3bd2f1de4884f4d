"""A summary of the files in a reports folder: the verdict of each audit (`report.json`; `figures.json` of a streaming
one) and of each fault drill (`drills.json`), so that the list of reports shows them without opening one.

The files were written by jobs; anything unexpected in them is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

import msgspec

from admin.findings import FIGURES
from admin.reports import Report

DRILLS, PAGE, STREAM = "drills.json", "report.html", "figures.json"
READ_MAX = 50
"""Number of files that are read for the list, newest first."""
READ_BYTES_MAX = 4_000_000
DRILLS_MAX = 200
T = TypeVar("T")
_KINDS = {"proven": "good", "violated": "danger", "unproven": "flight"}


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """An audit, in one line. `name`: the page to open, relative to the folder; `lost` None = not proven."""

    name: str
    title: str
    verdict: str
    kind: str
    acknowledged: int
    lost: int | None
    duplicates: int
    changed_ms: int


class Drill(msgspec.Struct, frozen=True, kw_only=True):
    """A fault drill, as written by `python -m tests.drills --into FOLDER`. `broken`: the broken promises, [] =
    passed."""

    name: str = ""
    place: str = ""
    is_long: bool = False
    messages: int = 0
    acknowledged: int = 0
    lost: int = 0
    duplicated: int = 0
    allowed: int = 0
    resurrected: int = 0
    stuck: int = 0
    out_of_order: int = 0
    p99_ms: float = 0.0
    recovery_s: float = 0.0
    failed_calls: int = 0
    commit: str = ""
    command: str = ""
    broken: list[str] = []


class _Verdict(msgspec.Struct):
    state: str = ""
    lost: int | None = None


class _Totals(msgspec.Struct):
    acknowledged: int = 0
    duplicates: int = 0


class _Figures(msgspec.Struct):
    verdict: _Verdict
    totals: _Totals
    title: str = ""


def audits_of(reports: Sequence[Report], read: Callable[[str], bytes | None]) -> list[Audit]:
    """The audits among the reports, in their order. `read` returns a report's bytes by its name. Blocks on disk I/O."""
    names = {report.name for report in reports}
    figures = [
        one for one in reports if PurePosixPath(one.name).name in (FIGURES, STREAM) and one.size <= READ_BYTES_MAX
    ]
    found = []
    for report in figures[:READ_MAX]:
        told = _decoded(read(report.name), _Figures)
        if told is not None and told.verdict.state in _KINDS:
            page = PurePosixPath(report.name).with_name(PAGE).as_posix()
            found.append(
                Audit(
                    name=page if page in names else report.name,
                    title=told.title or PurePosixPath(report.name).parent.as_posix(),
                    verdict=told.verdict.state,
                    kind=_KINDS[told.verdict.state],
                    acknowledged=told.totals.acknowledged,
                    lost=told.verdict.lost,
                    duplicates=told.totals.duplicates,
                    changed_ms=report.changed_ms,
                )
            )
    return found


def drills_of(content: bytes | None) -> list[Drill]:
    """The drills of one `drills.json`, those that broke a promise first; [] if the content is not one."""
    told = _decoded(content, dict[str, Drill])
    rows = [row for row in (told or {}).values() if row.name][:DRILLS_MAX]
    return sorted(rows, key=lambda row: not row.broken)


def _decoded(content: bytes | None, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(content, type=kind) if content is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
