"""The sweep finds messages that are in the store but in no cache, for whatever reason, and puts them back.

    a pass      page of the store ──► not in the cache: seen once         a crash between append and put, a message
    PASS_MS                                                               that another data centre replicated late
    later       page of the store ──► still not: put it back ──► read the store again: gone? removed

It takes two sightings, because between append and put every message is briefly in the store only. The second read
prevents the return of a message deleted after the page was read (a removal also leaves a tombstone).

A node that dies between append and put leaves a message that its sender does not know about. So when a node is gone, a
pass begins at once, and what it saw is checked again after SOON_MS: what has not been put by then never will be.

    killed ──► the others know ──► one tends ──────► a pass ──────────────────────────► what it saw again
               LIFE_MS, or         at once, or       QUEUE_PAUSE_MS and a scan a queue,  after SOON_MS
               BEAT_MS when it     LEASE_MS when it  PAGE_PAUSE_MS each PAGE messages
               is back sooner      was the dead one

The sweep runs on the node that tends the caches of its data centre, page by page with pauses, and only over shards that
are ready, since a fill finds the same messages. A shard with ready messages that are missing from its line, so that
nobody receives them, is refilled. The sweep should find nothing, so its finds are counted; with two data centres
they include messages that one had acknowledged but not replicated when it died. A node that is alone does not sweep: it
refills everything at startup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import structlog

from cqs.cache.interface import Residency
from cqs.errors import CacheUnavailable, CqsError
from cqs.metrics.declarations import SWEEP_FOUND
from cqs.queue import Queue
from cqs.service import repair, residency
from cqs.service.engine import Engine, shard_of
from cqs.service.retry import Pause, pause_ms
from cqs.store.interface import Stored

PASS_MS, SIGHT_MS, SOON_MS = 60_000, 50_000, 2_000
"""Passes begin PASS_MS apart. SIGHT_MS is less, because a pass may come to a queue sooner than the one before did."""
PAGE_PAUSE_MS, QUEUE_PAUSE_MS, LOOK_MS = 50, 200, 1_000
PAGE = 1_000
"""Messages checked between two pauses. A row with few messages is a page of its own, without a pause."""
AGAIN = 500
"""Messages re-checked per step; they are read with their bodies."""
SEEN_MAX = 100_000
"""Messages seen once that are remembered; the rest are found again by the next pass."""
_log = structlog.get_logger("cqs.sweep")


class Sweep:
    """What was seen once, and how much was put back since the start. `is_hurried`: a node is gone, and no pass has
    looked yet for what it left behind."""

    def __init__(self) -> None:
        self.found = 0
        self.passed_over = ""
        """Why the last pass skipped queues; "" = it did not."""
        self.is_hurried = False
        self._seen: dict[int, int] = {}
        self._lives: set[tuple[str, int]] = set()

    def look_around(self, engine: Engine) -> None:
        """Records which nodes are alive, as of the last beat. A restarted node counts as a new one."""
        lives = {(node.name, node.started_ms) for node in engine.cluster.membership.nodes}
        if self._lives - lives:
            self.is_hurried = True
        self._lives = lives

    async def sweep(self, engine: Engine, pause: Pause) -> None:
        """One pass over all queues, while this node tends the caches. Queues whose cache server does not answer are
        skipped. Raises StoreUnavailable."""
        before, self._seen, self.passed_over = self._seen, {}, ""
        seen: list[tuple[Queue, list[int]]] = []
        for queue in engine.registry:
            if not engine.cluster.tending.is_held:
                return
            with self._passing_over():
                if await _is_ready(engine, queue) and not await _is_stranded(engine, queue):
                    seen.append((queue, await self._sweep_queue(engine, queue, before, pause)))
            await pause(QUEUE_PAUSE_MS)
        if self.is_hurried:
            await pause(SOON_MS)
            for queue, addresses in seen:
                with self._passing_over():
                    await self._look_again(engine, queue, addresses)
            self.is_hurried = bool(self.passed_over)

    @contextmanager
    def _passing_over(self) -> Iterator[None]:
        try:
            yield
        except CacheUnavailable as error:
            self.passed_over = str(error)

    async def _sweep_queue(self, engine: Engine, queue: Queue, before: dict[int, int], pause: Pause) -> list[int]:
        """The addresses that were seen for the first time, or too recently to be put back."""
        sight_ms = SOON_MS if self.is_hurried else SIGHT_MS
        seen: list[int] = []
        count = 0
        async for page in engine.cluster.deep_scan(queue):
            missing = await self._missing(engine, queue, page)
            now_ms = engine.clock.now_ms()
            due = [address for address in missing if now_ms - before.get(address, now_ms) >= sight_ms]
            if due:
                await self._put_back(engine, queue, due)
            remembered = missing[: SEEN_MAX - len(self._seen)]
            self._seen |= {address: before.get(address, now_ms) for address in remembered}
            seen += sorted(set(remembered) - set(due))
            count += len(page)
            if count >= PAGE:
                await pause(PAGE_PAUSE_MS)
                count = 0
        return seen

    async def _look_again(self, engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
        """Puts back what is still in the store and still missing in the cache."""
        for start in range(0, len(addresses), AGAIN):
            some = addresses[start : start + AGAIN]
            if not await _is_ready(engine, queue):
                return
            known = await engine.cache.lookup(shard_of(queue), some)
            missing = [address for address, entry in zip(some, known, strict=True) if entry is None]
            due = [message.address for message in await engine.store.read(queue, missing)]
            if due:
                await self._put_back(engine, queue, due)

    async def _put_back(self, engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
        await repair.make_true(engine, queue, addresses)
        await _remove_deleted(engine, queue, addresses)
        self.found += len(addresses)
        _log.warning("messages_found_by_sweep", queue=queue.name, count=len(addresses))

    async def _missing(self, engine: Engine, queue: Queue, page: Sequence[Stored]) -> list[int]:
        oldest_ms = engine.clock.now_ms() - queue.settings.retention_ms
        addresses = [stored.address for stored in page if stored.sent_ms > oldest_ms]
        known = await engine.cache.lookup(shard_of(queue), addresses)
        return [address for address, entry in zip(addresses, known, strict=True) if entry is None]


async def _is_ready(engine: Engine, queue: Queue) -> bool:
    shard = shard_of(queue)
    return not engine.dirt.is_on(shard) and (await engine.cache.state(shard)).residency is Residency.READY


async def _is_stranded(engine: Engine, queue: Queue) -> bool:
    """Whether it was dropped, to be refilled. No cause is known any more, but nothing else would find such messages."""
    (sight,) = await engine.cache.survey([shard_of(queue)])
    if sight is None or not sight.stranded:
        return False
    _log.warning("shard_dropped_to_be_filled", queue=queue.name, reason=f"not in its line: {sight.stranded}")
    await engine.cache.drop(shard_of(queue))
    residency.ensure(engine, queue)
    return True


async def _remove_deleted(engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
    present = {message.address for message in await engine.store.read(queue, addresses)}
    gone = [address for address in addresses if address not in present]
    if gone:
        await engine.cache.remove(shard_of(queue), gone)


async def run(engine: Engine, pause: Pause = pause_ms) -> None:
    """Runs for ever; returns at once on a node that is alone. A failed pass is abandoned, and the next one begins
    later. Failed or incomplete passes are logged once, until a complete one. A starting node can't know which nodes
    died before, so it hurries."""
    sweep = Sweep()
    engine.metrics.watch(SWEEP_FOUND, lambda: sweep.found)
    began_ms, sweep.is_hurried, is_given_up = 0, True, False
    while not engine.cluster.is_alone:
        sweep.look_around(engine)
        now_ms = engine.clock.now_ms()
        is_due = (sweep.is_hurried and not sweep.passed_over) or not 0 <= now_ms - began_ms < PASS_MS
        if is_due and engine.cluster.tending.is_held:
            began_ms = now_ms
            try:
                await sweep.sweep(engine, pause)
                reason = sweep.passed_over
            except CqsError as error:
                reason = str(error)
            if reason and not is_given_up:
                _log.warning("sweep_given_up", reason=reason)
            is_given_up = bool(reason)
            await pause(SOON_MS)
        else:
            await pause(LOOK_MS)
