"""Looks at many shards, with one script per server and SURVEYED_MAX shards, so that neither a page nor a sample of
thousands of queues costs a call for each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from cqs.cache.counts import Counts
from cqs.cache.interface import SURVEYED_MAX, Residency, Shard, ShardState, Sight
from cqs.cache.redis.codec import RESIDENCY
from cqs.cache.redis.runner import ScriptRunner
from cqs.cache.redis.scripts import load
from cqs.cache.redis.servers import Servers
from cqs.errors import CacheUnavailable

_SURVEY = load("survey")
_ABSENT = Sight(ShardState(Residency.ABSENT, 0), Counts())


async def survey(servers: Servers, shards: Sequence[Shard]) -> list[Sight | None]:
    """See `QueueCache.survey`."""
    places: dict[ScriptRunner, list[int]] = {}
    for place, shard in enumerate(shards):
        places.setdefault(servers.of(shard), []).append(place)
    parts = [
        (server, of_server[start : start + SURVEYED_MAX])
        for server, of_server in places.items()
        for start in range(0, len(of_server), SURVEYED_MAX)
    ]
    answers = await asyncio.gather(
        *(look(server, servers, [shards[at] for at in part]) for server, part in parts), return_exceptions=True
    )
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    for failure in failures:
        if len(failures) == len(answers) or not isinstance(failure, CacheUnavailable):
            raise failure
    found: list[Sight | None] = [None] * len(shards)
    for (_, part), sights in zip(parts, answers, strict=True):
        for place, sight in zip(part, [] if isinstance(sights, BaseException) else sights, strict=False):
            found[place] = sight
    return found


async def look(server: ScriptRunner, servers: Servers, shards: Sequence[Shard]) -> list[Sight]:
    """Looks at up to SURVEYED_MAX shards of one server. Raises CacheUnavailable."""
    reply = await servers.run_together(server, _SURVEY, shards)
    return [_sight_of(cast("list[bytes | int]", words)) for words in cast("list[object]", reply)]


def _sight_of(words: list[bytes | int]) -> Sight:
    if not words:
        return _ABSENT
    residency, epoch, ready, in_flight, delayed, groups, noisy, oldest, standing = words
    is_ready = RESIDENCY[cast(bytes, residency)] is Residency.READY
    return Sight(
        ShardState(RESIDENCY[cast(bytes, residency)], int(epoch)),
        Counts(
            ready=cast(int, ready),
            in_flight=cast(int, in_flight),
            delayed=cast(int, delayed),
            oldest_ms=int(oldest) if oldest else None,
            groups_in_flight=cast(int, groups),
            noisy_groups=cast(int, noisy),
        ),
        stranded=max(0, cast(int, ready) - cast(int, standing)) if is_ready else 0,
    )
