"""Pages of what is in one state as it stands in Redis, at a price that does not grow with the shard. Where a page goes
on is one number for callers, and a place with what stands before it for the script:

    part (1 byte) │ place (6 bytes) │ what stands before it: a list's item, or a sorted set's member
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
    """Where a page begins, as `browse.lua` says it."""

    part: int = 1
    place: int = 0
    before: bytes = b""


def spot_of(after: int | None) -> Spot:
    """The front for None, and for a number that is none of ours."""
    raw = b"" if after is None or after < 0 else after.to_bytes((after.bit_length() + 7) // 8, "big")
    if len(raw) <= _PLACE_BYTES or raw[0] > PARTS_MAX:
        return Spot()
    return Spot(raw[0], int.from_bytes(raw[1 : 1 + _PLACE_BYTES], "big"), raw[1 + _PLACE_BYTES :])


def after_of(spot: Sequence[object]) -> int | None:
    """None when there is no such place."""
    part, place, before = cast("tuple[int, int, bytes]", tuple(spot))
    if not part:
        return None
    return int.from_bytes(bytes([part]) + place.to_bytes(_PLACE_BYTES, "big") + before, "big")


def page_of(reply: Reply) -> Page:
    """What the script answered."""
    end, *found = cast("list[list[object]]", reply)
    page = Page([], after_of(end), [])
    for part, place, before, word, *known in found:
        address = address_of(cast(bytes, word))
        entry, after = entry_of(address, cast("list[bytes | None]", known)), after_of((part, place, before))
        assert entry is not None and after is not None
        page.entries.append(entry)
        page.afters.append(after)
    return page
