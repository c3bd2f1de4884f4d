"""Pages of a list that is completely in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

T = TypeVar("T")


class Pages(msgspec.Struct, frozen=True):
    """The position of a page. `number` counts from 1."""

    number: int
    total: int
    size: int

    @property
    def count(self) -> int:
        return max(1, -(-self.total // self.size))

    @property
    def first(self) -> int:
        return (self.number - 1) * self.size + 1 if self.total else 0

    @property
    def last(self) -> int:
        return min(self.number * self.size, self.total)


def paged(items: Sequence[T], number: int, size: int) -> tuple[Sequence[T], Pages]:
    """The items of a page; a number beyond the last page selects the last one."""
    pages = Pages(max(number, 1), len(items), size)
    if pages.number > pages.count:
        pages = Pages(pages.count, pages.total, size)
    return items[max(pages.first - 1, 0) : pages.last], pages
