"""An engine on in-memory backends, a manual clock and a seeded random generator, for tests of the service.

bench = await make_bench()
queue = await bench.create("orders", visibility_ms=5_000)
await bench.send(queue, "one", "two")
bench.clock.advance_ms(5_000)
bench = await bench.restart()                              the cache is lost, the store is not
bench.store.fail("append", StoreUnavailable("disk full"))  the next append raises this
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cqs.cache.counts import Counts
from cqs.cache.memory import MemoryCache
from cqs.errors import CacheUnavailable
from cqs.ids import Addresses
from cqs.message import Message
from cqs.queue import Queue, QueueName
from cqs.receipt import Receipts
from cqs.service import counting, queues, residency
from cqs.service.cluster import Cluster, alone
from cqs.service.deliver import Delivery
from cqs.service.engine import Engine, Tuning
from cqs.service.homed_cache import HomedCache
from cqs.service.long_poll import Waiters
from cqs.service.receive import ReceiveRequest, receive
from cqs.service.registry import Registry
from cqs.service.send import Draft, send_batch
from cqs.store.memory import MemoryStore
from cqs.testing.clock import ManualClock
from cqs.testing.witness import RecordingWitness

ACCOUNT = "000000000000"
TURNS_MAX = 10_000


BODY_BUDGET_BYTES = 1_000_000


class Failing:
    """Makes the next calls of a backend's method fail, or makes otherwise atomic calls yield to other tasks."""

    def slow(self, *names: str) -> None:
        """Calls of these methods yield to other tasks before and after their work."""
        for name in names:
            setattr(self, name, _slowly(getattr(self, name)))

    def fail(self, name: str, error: BaseException, *, times: int = 1, is_done: bool = False, after: int = 0) -> None:
        """`after` calls of `name` succeed, then the next `times` calls raise `error`; with `is_done`, they do their
        work first."""
        call: Callable[..., Awaitable[object]] = getattr(self, name)
        left, good = times, after

        async def failing(*args: object, **named: object) -> object:
            nonlocal left, good
            if good or not left:
                good -= min(good, 1)
                return await call(*args, **named)
            left -= 1
            if is_done:
                await call(*args, **named)
            raise error

        setattr(self, name, failing)


def _slowly(call: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    async def slow(*args: object, **named: object) -> object:
        await asyncio.sleep(0)
        result = await call(*args, **named)
        await asyncio.sleep(0)
        return result

    return slow


async def _out_of_reach(*_: object, **__: object) -> object:
    raise CacheUnavailable("cut off by the test")


class FailingStore(Failing, MemoryStore):
    pass


class FailingCache(Failing, MemoryCache):
    """`cut` makes it unreachable, with its contents, until `mend`."""

    CALLS = ("state", "begin_fill", "fill", "put", "take", "hide", "fence", "give_back", "remove", "reveal", "redelay",
              "peek", "browse", "lookup", "counts", "survey", "drop", "vesting", "next_vesting_ms")  # fmt: skip

    def cut(self) -> None:
        for name in self.CALLS:
            setattr(self, name, _out_of_reach)

    def mend(self) -> None:
        for name in self.CALLS:
            delattr(self, name)


@dataclass(frozen=True, slots=True)
class Bench:
    """An engine, and the parts that a test controls and inspects."""

    engine: Engine
    clock: ManualClock
    cache: FailingCache
    store: FailingStore
    witness: RecordingWitness
    seed: int

    async def create(self, name: str, **changes: object) -> Queue:
        """Creates a queue with these settings; a FIFO queue if the name ends in `.fifo`."""
        fifo: dict[str, object] = {"is_fifo": True} if name.endswith(".fifo") else {}
        return await queues.create(self.engine, QueueName(ACCOUNT, name), fifo | changes, {})

    def slow(self) -> None:
        """From now on the steps that create, change, fill and drop a queue yield to other tasks."""
        self.store.slow("create", "save", "drop", "append", "find")
        self.cache.slow("begin_fill", "fill", "put", "drop")

    async def send(self, queue: Queue, *bodies: str, group: str | None = None) -> None:
        """Sends the bodies in this order. On a FIFO queue they go to `group` (or "g"), each with a new deduplication
        id."""
        is_fifo = queue.settings.is_fifo
        for body in bodies:
            dedup_id = str(self.engine.rng.getrandbits(64)) if is_fifo else None
            draft = Draft(body, group=group or "g" if is_fifo else group, dedup_id=dedup_id)
            await send_batch(self.engine, queue, [draft], "sender")

    async def send_same(self, queue: Queue, body: str) -> None:
        """Sends to a FIFO queue with content-based deduplication."""
        await send_batch(self.engine, queue, [Draft(body, group="g")], "sender")

    async def receive(self, queue: Queue, count_max: int = 10, visibility_ms: int | None = None) -> list[Delivery]:
        """One short poll."""
        request = ReceiveRequest(count_max, visibility_ms, wait_ms=0)
        return await receive(self.engine, queue, request, lambda: True)

    async def bodies(self, queue: Queue) -> list[str]:
        """Receives up to ten messages, which are then in flight, and returns their bodies."""
        return [delivery.message.body for delivery in await self.receive(queue)]

    async def counts(self, queue: Queue) -> Counts:
        return await counting.counts(self.engine, queue)

    async def stored(self, queue: Queue) -> list[Message]:
        """Returns all messages of the queue in the store."""
        addresses = [stored.address async for page in self.store.scan(queue) for stored in page]
        return await self.store.read(queue, addresses)

    async def restart(self) -> Bench:
        """Returns a new engine on the same store and clock, with an empty cache that is filled as at a server's
        start."""
        return await make_bench(
            tuning=self.engine.tuning, store=self.store, clock=self.clock, seed=self.seed + 1, witness=self.witness
        )


async def until(condition: Callable[[], bool]) -> None:
    """Yields to other tasks until the condition holds. Raises AssertionError after TURNS_MAX turns."""
    for _ in range(TURNS_MAX):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came true")


async def make_bench(
    *,
    tuning: Tuning | None = None,
    store: FailingStore | None = None,
    clock: ManualClock | None = None,
    seed: int = 1,
    witness: RecordingWitness | None = None,
    body_budget_bytes: int = BODY_BUDGET_BYTES,
    cache: FailingCache | None = None,
    cluster: Cluster | None = None,
) -> Bench:
    """Builds an engine and fills its cache from the store. `cluster`: makes it one of several nodes that share a store
    and a cache."""
    clock = clock or ManualClock()
    rng = random.Random(seed)
    store = store or FailingStore(clock)
    cache = cache or FailingCache(clock, rng, body_budget_bytes)
    witness = witness or RecordingWitness()
    await store.open()
    engine = Engine(
        clock=clock,
        rng=rng,
        addresses=Addresses(clock, rng),
        cache=cache if cluster is None or cluster.homes is None else HomedCache(cache, cluster.homes),
        store=store,
        registry=Registry(),
        waiters=Waiters(),
        receipts=Receipts(await store.secret()),
        witness=witness,
        tuning=tuning or Tuning(),
        cluster=cluster or alone(clock),
    )
    await residency.open_all(engine)
    return Bench(engine, clock, cache, store, witness, seed)


async def make_engine(**parts: object) -> Engine:
    """Like `make_bench`, but returns only the engine."""
    return (await make_bench(**parts)).engine  # type: ignore[arg-type]
