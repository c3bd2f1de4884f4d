"""Checks a Redis server once, without the cache, over a connection of its own."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from cqs.cache.redis.connection import Address, Link
from cqs.cache.redis.replies import Refused, Reply
from cqs.clock import Clock
from cqs.errors import CacheUnavailable

PROBE_S_MAX = 5.0


@dataclass(frozen=True, slots=True)
class Look:
    """`info`: the fields of INFO. `settings`: those of CONFIG GET; empty when it is not permitted. `ahead_ms`: how far
    its clock is ahead of ours, corrected for the time the answer took."""

    info: Mapping[str, str]
    settings: Mapping[str, str]
    ahead_ms: float


async def look(address: Address, rng: random.Random, clock: Clock) -> Look:
    """Raises CacheUnavailable, with Redis' own words, within about PROBE_S_MAX."""
    link = Link(address, rng, timeout_s=PROBE_S_MAX / 3)
    await link.start()
    try:
        if not link.is_connected:
            raise CacheUnavailable(f"Redis {address}: {link.reason}")
        info = _fields(await link.call(b"INFO"))
        before_ms = clock.now_ms()
        seconds, micros = cast("list[bytes]", await link.call(b"TIME"))
        middle_ms = (before_ms + clock.now_ms()) / 2
        return Look(info, await _settings(link), int(seconds) * 1_000 + int(micros) / 1_000 - middle_ms)
    finally:
        await link.close()


async def _settings(link: Link) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("save", "appendonly", "maxmemory-policy"):
        try:
            reply = await link.call(b"CONFIG", b"GET", name)
        except Refused:
            return {}
        key, value = cast("list[bytes]", reply)
        found[key.decode()] = value.decode()
    return found


def _fields(info: Reply) -> dict[str, str]:
    lines = cast(bytes, info).decode(errors="replace").splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)
