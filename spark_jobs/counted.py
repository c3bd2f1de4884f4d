"""Singular and plural in sentences."""

from __future__ import annotations

import re

_CHOICE = re.compile(r"\(([\w ]*)\|([\w ]*)\)")


def counted(number: int, text: str) -> str:
    """The number and the text; each `(one|many)` in the text becomes the alternative that matches the number."""
    return f"{number} {_CHOICE.sub(lambda choice: choice[1 if number == 1 else 2], text)}"
