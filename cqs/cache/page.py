"""A page of a shard's messages, and where the next page begins."""

from __future__ import annotations

import msgspec

from cqs.cache.entry import Entry


class Page(msgspec.Struct, frozen=True):
    """`after` gets the next page, None = last page. `afters`: the `after` for a page cut off behind each entry; empty =
    the entries' addresses."""

    entries: list[Entry]
    after: int | None
    afters: list[int] = []

    def after_entry(self, place: int) -> int:
        """The `after` for a page cut off behind entry number `place`."""
        return self.afters[place] if self.afters else self.entries[place].address
