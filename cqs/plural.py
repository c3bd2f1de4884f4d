"""Numbers with what they count, in words for people: "1 error", "2 errors"."""

from __future__ import annotations


def plural(count: float, one: str, many: str = "") -> str:
    """The noun, or noun and verb, that goes with the number; `many`: where an s alone does not make it."""
    return one if count == 1 else many or f"{one}s"


def counted(count: int, one: str, many: str = "") -> str:
    """The number and its noun."""
    return f"{count} {plural(count, one, many)}"
