"""The sweep while a cache server is unreachable."""

from __future__ import annotations

from cqs.cache.interface import Shard, ShardState
from cqs.errors import CacheUnavailable
from cqs.service.engine import shard_of
from cqs.service.registry import Registry
from cqs.service.sweep import Sweep
from tests.unit.test_cluster_sweep import no_pause, one_that_was_never_put


async def test_queues_of_a_cache_server_that_is_away_keep_no_others_from_being_swept() -> None:
    town, a, queue = await one_that_was_never_put()
    away = await a.create("a-away")
    state = town.cache.state

    async def state_of(shard: Shard) -> ShardState:
        if shard == shard_of(away):
            raise CacheUnavailable("by the test")
        return await state(shard)

    town.cache.state = state_of  # type: ignore[method-assign]
    registry = Registry()
    for one in (away, queue):
        registry.put(one)
    object.__setattr__(a.engine, "registry", registry)
    sweep = Sweep()
    sweep.is_hurried = True

    await sweep.sweep(a.engine, no_pause)

    assert sweep.found == 1
