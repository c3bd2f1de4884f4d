"""Numbers with their nouns, for texts: "1 error", "2 errors"."""

from __future__ import annotations


def plural(count: float, one: str, many: str = "") -> str:
    """The noun, or noun and verb, in the form that fits the number; `many`: a plural that does not just add an s."""
    return one if count == 1 else many or f"{one}s"


def counted(count: int, one: str, many: str = "") -> str:
    """The number and its noun."""
    return f"{count} {plural(count, one, many)}"
