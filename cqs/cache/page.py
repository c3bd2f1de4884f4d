"""A page of a shard's messages, and where the next one goes on."""

from __future__ import annotations

import msgspec

from cqs.cache.entry import Entry


class Page(msgspec.Struct, frozen=True):
    """`after` continues it, None = last page. `afters`: what continues a page that ends with each entry; empty = the
    entries' addresses."""

    entries: list[Entry]
    after: int | None
    afters: list[int] = []

    def after_entry(self, place: int) -> int:
        """What continues a page that ends with this one of its entries."""
        return self.afters[place] if self.afters else self.entries[place].address
