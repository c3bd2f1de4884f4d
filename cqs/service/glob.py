"""Patterns in policies: `*` matches any text, `?` one character.

Split at the stars, a pattern is a list of pieces of fixed length. The first must match at the start and the last at the
end, each of the others at the earliest position after the one before it. There is no backtracking, so a hostile pattern
on a hostile text costs at most the product of their lengths, where a regular expression could take exponential time.
"""

from __future__ import annotations

import re


class Glob:
    """One pattern. Patterns with equal text are equal."""

    __slots__ = ("_first", "_last", "_last_length", "_middle", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        first, *others = text.split("*")
        self._first = _piece(first)
        self._middle = [_piece(piece) for piece in others[:-1] if piece]
        self._last = _piece(others[-1]) if others else None
        self._last_length = len(others[-1]) if others else 0

    def matches(self, text: str) -> bool:
        if self._last is None:
            return self._first.fullmatch(text) is not None
        found = self._first.match(text)
        for piece in self._middle:
            if found is None:
                return False
            found = piece.search(text, found.end())
        last_start = len(text) - self._last_length
        return found is not None and found.end() <= last_start and self._last.match(text, last_start) is not None

    def __repr__(self) -> str:
        return f"Glob({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Glob) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


def _piece(text: str) -> re.Pattern[str]:
    return re.compile("".join(["." if one == "?" else re.escape(one) for one in text]), re.DOTALL)
