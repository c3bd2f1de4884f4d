"""Messages that a shard has but that are missing in its line."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from structlog.testing import capture_logs

from cqs.cache.interface import Shard, Sight
from cqs.service.engine import shard_of
from cqs.service.sweep import Sweep
from tests.cluster import Town
from tests.unit.test_cluster_sweep import no_pause


async def test_a_shard_whose_line_misses_messages_is_filled_anew() -> None:
    town = Town()
    a = await town.node("a")
    await town.beat()
    queue = await a.create("orders")
    await a.send(queue, "one")
    epoch = (await town.cache.state(shard_of(queue))).epoch
    survey = town.cache.survey

    async def stranded(shards: Sequence[Shard]) -> list[Sight | None]:
        return [msgspec.structs.replace(sight, stranded=1) for sight in await survey(shards) if sight is not None]

    town.cache.survey = stranded  # type: ignore[method-assign]
    with capture_logs() as logs:
        await Sweep().sweep(a.engine, no_pause)
    await a.engine.background.drain()

    reasons = [log["reason"] for log in logs if log["event"] == "shard_dropped_to_be_filled"]
    assert reasons == ["not in its line: 1"]
    assert (await town.cache.state(shard_of(queue))).epoch != epoch
    assert await a.bodies(queue) == ["one"]
