"""The sweep: finds what is in the store and in no cache, whatever the cause, and puts it back.

    a pass      page of the store ──► not in the cache: seen once         a crash between append and put, a message
    SIGHT_MS                                                              that another data centre replicated late
    later       page of the store ──► still not: put it back ──► read the store again: gone? removed

Two sightings, because a message between its append and its put is in the store alone for a moment; the second read,
because one that was deleted after the page was read must not come back (a removed one leaves a tombstone, too).

A node that dies between an append and its put leaves a message behind that its sender knows nothing of. So when one is
gone, two passes follow at once, SOON_MS apart: what it did not put by then, it never will.

It runs on the node that tends the caches of its data centre, a page at a time with pauses, and only over shards that
are ready: a fill would find the same. What it finds should be nothing, so it is counted; with two data centres it is
also what one acknowledged and had not replicated when it died. A node that is alone fills everything at its start
instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from cqs.cache.interface import Residency
from cqs.errors import CqsError
from cqs.metrics.declarations import SWEEP_FOUND
from cqs.queue import Queue
from cqs.service import repair
from cqs.service.engine import Engine, shard_of
from cqs.service.retry import Pause, pause_ms
from cqs.store.interface import Stored

SIGHT_MS, SOON_MS = 60_000, 2_000
PAGE_PAUSE_MS, QUEUE_PAUSE_MS, LOOK_MS = 50, 200, 1_000
SEEN_MAX = 100_000
"""Messages seen once that are remembered; what is beyond is seen once more at the next pass."""
_log = structlog.get_logger("cqs.sweep")


class Sweep:
    """What was seen once, and how much was put back since the start. `hurried`: how many passes follow at once, since a
    node is gone."""

    def __init__(self) -> None:
        self.found = 0
        self.hurried = 0
        self._seen: dict[int, int] = {}
        self._lives: set[tuple[str, int]] = set()

    def look_around(self, engine: Engine) -> None:
        """Notes who lives, as of the last beat. A node that was started anew has another life."""
        lives = {(node.name, node.started_ms) for node in engine.cluster.membership.nodes}
        if self._lives - lives:
            self.hurried = 2
        self._lives = lives

    async def sweep(self, engine: Engine, pause: Pause) -> None:
        """One pass over all queues, while this node tends the caches. Raises StoreUnavailable, CacheUnavailable."""
        before, self._seen = self._seen, {}
        for queue in engine.registry:
            if not engine.cluster.tending.is_held:
                return
            await self._sweep_queue(engine, queue, before, pause)
            await pause(QUEUE_PAUSE_MS)
        self.hurried = max(0, self.hurried - 1)

    async def _sweep_queue(self, engine: Engine, queue: Queue, before: dict[int, int], pause: Pause) -> None:
        shard = shard_of(queue)
        if engine.dirt.is_on(shard) or (await engine.cache.state(shard)).residency is not Residency.READY:
            return
        sight_ms = SOON_MS if self.hurried else SIGHT_MS
        async for page in engine.cluster.deep_scan(queue):
            missing = await self._missing(engine, queue, page)
            now_ms = engine.clock.now_ms()
            due = [address for address in missing if now_ms - before.get(address, now_ms) >= sight_ms]
            if due:
                await repair.make_true(engine, queue, due)
                await _remove_deleted(engine, queue, due)
                self.found += len(due)
                _log.warning("messages_found_by_sweep", queue=queue.name, count=len(due))
            for address in missing[: SEEN_MAX - len(self._seen)]:
                self._seen[address] = before.get(address, now_ms)
            await pause(PAGE_PAUSE_MS)

    async def _missing(self, engine: Engine, queue: Queue, page: Sequence[Stored]) -> list[int]:
        oldest_ms = engine.clock.now_ms() - queue.settings.retention_ms
        addresses = [stored.address for stored in page if stored.sent_ms > oldest_ms]
        known = await engine.cache.lookup(shard_of(queue), addresses)
        return [address for address, entry in zip(addresses, known, strict=True) if entry is None]


async def _remove_deleted(engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
    present = {message.address for message in await engine.store.read(queue, addresses)}
    gone = [address for address in addresses if address not in present]
    if gone:
        await engine.cache.remove(shard_of(queue), gone)


async def run(engine: Engine, pause: Pause = pause_ms) -> None:
    """For ever, or not at all on a node that is alone. A pass that fails is given up, and the next one
    begins later. A node that begins can't know who died before, so it hurries."""
    sweep = Sweep()
    engine.metrics.watch(SWEEP_FOUND, lambda: sweep.found)
    began_ms, sweep.hurried = 0, 2
    while not engine.cluster.is_alone:
        sweep.look_around(engine)
        now_ms = engine.clock.now_ms()
        is_due = sweep.hurried or not 0 <= now_ms - began_ms < SIGHT_MS
        if is_due and engine.cluster.tending.is_held:
            began_ms = now_ms
            try:
                await sweep.sweep(engine, pause)
            except CqsError as error:
                _log.info("sweep_given_up", reason=str(error))
            await pause(SOON_MS)
        else:
            await pause(LOOK_MS)
