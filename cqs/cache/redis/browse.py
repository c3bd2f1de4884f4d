"""Pages of the messages in one state, in the order in which Redis holds them, at a cost that does not grow with the
shard. Callers see a page's starting point as one number; for the script it is a position and the item before it:

    part (1 byte) │ position (6 bytes) │ the item before it: of a list, or the member of a sorted set
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from cqs.cache.page import Page
from cqs.cache.redis.codec import address_of, entry_of
from cqs.cache.redis.replies import Reply

PARTS_MAX = 3
_PLACE_BYTES = 6


class Spot(NamedTuple):
    """Where a page begins, in the terms of `browse.lua`."""

    part: int = 1
    place: int = 0
    before: bytes = b""


def spot_of(after: int | None) -> Spot:
    """The start for None, and for any number not made by `after_of`."""
    raw = b"" if after is None or after < 0 else after.to_bytes((after.bit_length() + 7) // 8, "big")
    if len(raw) <= _PLACE_BYTES or raw[0] > PARTS_MAX:
        return Spot()
    return Spot(raw[0], int.from_bytes(raw[1 : 1 + _PLACE_BYTES], "big"), raw[1 + _PLACE_BYTES :])


def after_of(spot: Sequence[object]) -> int | None:
    """None when there is no next page."""
    part, place, before = cast("tuple[int, int, bytes]", tuple(spot))
    if not part:
        return None
    return int.from_bytes(bytes([part]) + place.to_bytes(_PLACE_BYTES, "big") + before, "big")


def page_of(reply: Reply) -> Page:
    """Decodes the script's answer."""
    end, *found = cast("list[list[object]]", reply)
    page = Page([], after_of(end), [])
    for part, place, before, word, *known in found:
        address = address_of(cast(bytes, word))
        entry, after = entry_of(address, cast("list[bytes | None]", known)), after_of((part, place, before))
        assert entry is not None and after is not None
        page.entries.append(entry)
        page.afters.append(after)
    return page
