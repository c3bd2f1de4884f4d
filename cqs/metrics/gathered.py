"""Merges the pages of several workers into one, with a label on each series that names the worker.

Nothing is added up: Prometheus does that (`sum without (worker)`), and only it can, because the counters of a replaced
worker restart at 0, which a sum would hide.
"""

from __future__ import annotations

from collections.abc import Mapping

LABEL = "worker"
_END = "# EOF"


def gathered(texts: Mapping[str, bytes]) -> bytes:
    """`texts` by worker, all in one format (Prometheus' or OpenMetrics). Families stay together, as both formats
    require."""
    heads: dict[str, dict[str, str]] = {}
    samples: dict[str, list[str]] = {}
    is_openmetrics = False
    for worker, text in texts.items():
        label = f'{LABEL}="{worker}"'
        family = ""
        for line in text.decode().splitlines():
            if line == _END:
                is_openmetrics = True
            elif line.startswith("# "):
                _, what, family, *_ = line.split(" ", 3)
                heads.setdefault(family, {}).setdefault(what, line)
            elif line:
                samples.setdefault(family, []).append(_labelled(line, label))
    lines: list[str] = []
    for family, head in heads.items():
        lines += [*head.values(), *samples.get(family, ())]
    if is_openmetrics:
        lines.append(_END)
    return ("\n".join(lines) + "\n").encode()


def _labelled(line: str, label: str) -> str:
    """The sample with one more label, before its other labels."""
    name, brace, rest = line.partition("{")
    if brace and " " not in name:
        return f"{name}{{{label}{'' if rest.startswith('}') else ','}{rest}"
    name, _, rest = line.partition(" ")
    return f"{name}{{{label}}} {rest}"
