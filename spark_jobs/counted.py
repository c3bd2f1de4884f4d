"""Counts in sentences."""

from __future__ import annotations

import re

_CHOICE = re.compile(r"\(([\w ]*)\|([\w ]*)\)")


def counted(number: int, text: str) -> str:
    """The number and the text, in which of each `(one|many)` the one is taken that goes with it."""
    return f"{number} {_CHOICE.sub(lambda choice: choice[1 if number == 1 else 2], text)}"
