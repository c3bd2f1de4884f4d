"""The doctor's findings: what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from cqs.plural import counted


class Level(StrEnum):
    """The severity. ERROR: the server would not start, could not serve with it, or would lose messages."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """`part`: what was checked, such as `redis 10.0.0.1:6379`. `to_do` is empty if there is nothing to do."""

    level: Level
    part: str
    text: str
    to_do: str = ""


def ok(part: str, text: str) -> Finding:
    return Finding(Level.OK, part, text)


def warning(part: str, text: str, to_do: str) -> Finding:
    return Finding(Level.WARNING, part, text, to_do)


def error(part: str, text: str, to_do: str) -> Finding:
    return Finding(Level.ERROR, part, text, to_do)


def as_text(findings: Sequence[Finding]) -> str:
    """One line per finding, with what to do below it, and the totals at the end."""
    lines: list[str] = []
    for one in findings:
        lines.append(f"{one.level.value:8} {one.part}: {one.text}")
        if one.to_do:
            lines.append(f"{'':8} -> {one.to_do}")
    errors, warnings = [sum(one.level is level for one in findings) for level in (Level.ERROR, Level.WARNING)]
    told = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}."
    lines.append(told if errors or warnings else "All is well.")
    return "\n".join(lines)


def as_json(findings: Sequence[Finding]) -> dict[str, object]:
    """`is_well` and the findings, for programs."""
    return {
        "is_well": is_well(findings),
        "findings": [asdict(one) | {"level": one.level.value} for one in findings],
    }


def is_well(findings: Sequence[Finding]) -> bool:
    """Whether there is no ERROR."""
    return all(one.level is not Level.ERROR for one in findings)
