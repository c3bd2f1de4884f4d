"""ReceiveMessage: take messages, check them, answer.

    take ──► dead? to the dead-letter queue ──► bodies (cache, else store) ──► lease stored ──► handles ──► answer
      ▲                                                                                            │
      └──────────── give back: the client is gone, or the store failed; not counted ◄──────────────┘

While the cache is absent or being filled, the store serves (`cqs.service.fallback`). While it is dirty or unreachable
from this node, the store serves once the other nodes know, and nothing is handed out until then
(`cqs.service.marking`). Waiting for messages follows `cqs.service.long_poll`: register, look, sleep.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from time import perf_counter_ns

import msgspec

from cqs import limits
from cqs.cache.interface import Residency, Shard, Taken, TakeRequest
from cqs.errors import CacheUnavailable, OverLimit, QueueDoesNotExist
from cqs.queue import Queue
from cqs.service import (
    checking,
    deliver,
    draft_rules,
    expiry,
    fallback,
    fifo_order,
    lookup,
    marking,
    queue_rules,
    redrive,
    residency,
)
from cqs.service.deliver import Delivery
from cqs.service.engine import Engine, shard_of

POLL_S = 1.0
"""While nobody wakes them (the cache can't, or too many messages are in flight and a delete makes room), a queue's
pollers together look again at this interval."""
WhenGone = Callable[[Callable[[], None] | None], None]
"""Is told what to call when the client disconnects; None = nothing any more."""
_LOOKS_MAX = 100
"""Takes per look, for the case that all messages taken are dead letters or damaged."""


def _stays(_: Callable[[], None] | None) -> None:
    """For a client that does not disconnect."""


class ReceiveRequest(msgspec.Struct, frozen=True, gc=False):
    """What a client asks for; None = the queue's setting. `attempt_id` only on FIFO queues."""

    count_max: int = 1
    visibility_ms: int | None = None
    wait_ms: int | None = None
    attempt_id: str = ""
    receiver_id: str = ""
    """Identifies the caller for the witness."""
    account: str = ""
    """The account of the receive; the number of waiting receives per account is limited."""
    is_waiting: bool = False
    """The receive sleeps if this look finds nothing."""


class _Look(msgspec.Struct, frozen=True):
    """The result of one look. `is_from_store`: the cache could not be used."""

    deliveries: list[Delivery]
    is_over_limit: bool = False
    is_from_store: bool = False


async def receive(
    engine: Engine,
    queue: Queue,
    request: ReceiveRequest,
    is_still_wanted: Callable[[], bool],
    when_gone: WhenGone = _stays,
) -> list[Delivery]:
    """Returns up to `count_max` messages, now hidden; [] if none came in time, the client disconnected, or
    `is_still_wanted`, called after each wait, returned False. Raises OverLimit (short poll, standard queue),
    QueueDoesNotExist if the queue is deleted meanwhile, RequestThrottled if too many receives of the account wait,
    StoreUnavailable, and what `is_still_wanted` raises."""
    draft_rules.check_attempt(queue.settings, request.attempt_id)
    wait_ms = queue.settings.receive_wait_ms if request.wait_ms is None else request.wait_ms
    look = await _look(engine, queue, request)
    deliveries = look.deliveries
    if not deliveries and wait_ms:
        wait_ms = engine.waiters.wait_ms_of(wait_ms)
        deliveries = await _wait(engine, queue, request, wait_ms, is_still_wanted, when_gone)
    elif look.is_over_limit and not queue.settings.is_fifo:
        raise OverLimit(f"Too many messages in flight; the limit is {engine.tuning.in_flight_max} a queue.")
    if not deliveries:
        engine.witness.received_nothing(queue)
    return deliveries


async def give_back(engine: Engine, queue: Queue, deliveries: Sequence[Delivery], attempt_id: str = "") -> None:
    """The response did not reach the client: see `deliver.give_back`."""
    await deliver.give_back(engine, queue, [delivery.received for delivery in deliveries], attempt_id)


async def _wait(
    engine: Engine,
    queue: Queue,
    request: ReceiveRequest,
    wait_ms: int,
    is_still_wanted: Callable[[], bool],
    when_gone: WhenGone,
) -> list[Delivery]:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_ms / 1000
    request = msgspec.structs.replace(request, is_waiting=True)
    waiter = engine.waiters.register(queue.uid, request.account)
    when_gone(waiter.end)
    is_counted_on = False
    try:
        while True:
            if is_counted_on and not is_still_wanted():
                return []
            present = engine.registry.get(queue.key)
            if present is None or present.uid != queue.uid:
                raise QueueDoesNotExist
            look = await _look(engine, present, request)
            is_counted_on = bool(look.deliveries) and not engine.bells.is_heard(shard_of(present))
            left_s = deadline - loop.time()
            if look.deliveries:
                return look.deliveries
            if left_s <= 0 or waiter.is_over:
                return []
            is_unheard = look.is_from_store or look.is_over_limit
            poll_s = POLL_S * engine.waiters.count(queue.uid) if is_unheard else left_s
            is_counted_on = True
            await waiter.wait(min(left_s, poll_s))
            if loop.time() >= deadline:
                engine.waiters.retire(queue.uid, waiter)
    finally:
        when_gone(None)
        is_promised = engine.waiters.leave(queue.uid, waiter)
        if is_counted_on or waiter.is_woken or is_promised:
            _pass_on(engine, queue)


def _pass_on(engine: Engine, queue: Queue) -> None:
    """Passes an unused wake-up to another waiter, here or on another node. Also after a look that found messages by
    chance while this node gets no notifications (lost subscription): there may be more."""
    present = engine.registry.get(queue.key)
    if present is not None and present.uid == queue.uid and not engine.waiters.wake_spare(queue.uid, 1):
        engine.bells.ring(shard_of(present), 1)


async def _look(engine: Engine, queue: Queue, request: ReceiveRequest) -> _Look:
    """One look. Its duration counts for the queue if it found messages."""
    started_ns = perf_counter_ns()
    shard = shard_of(queue)
    take = _take_request(engine, queue, request)
    for _ in range(_LOOKS_MAX):
        try:
            taken = await _take(engine, queue, shard, take)
        except CacheUnavailable:
            if not await marking.is_known(engine, shard):
                return _Look([], is_from_store=True)
            taken = None
        if taken is None:
            look = await _look_in_store(engine, queue, take, request.receiver_id)
            if look.deliveries:
                _note_time(engine, queue, started_ns)
            return look
        if not take.visibility_ms:
            engine.waiters.wake(queue.uid, len(taken.received))
        is_disposed = await _dispose(engine, queue, taken)
        if taken.received:
            received = await checking.checked(engine, queue, taken.received, request.attempt_id)
            deliveries: list[Delivery] = []
            if received:
                deliveries = await deliver.deliver(engine, queue, received, request.receiver_id, request.attempt_id)
            if deliveries:
                _note_time(engine, queue, started_ns)
                return _Look(deliveries)
        elif not is_disposed or not (taken.dead or taken.expired):
            return _Look([], is_over_limit=taken.is_over_limit)
    return _Look([])


def _note_time(engine: Engine, queue: Queue, started_ns: int) -> None:
    engine.metrics.queues.meet(queue).receive_times.observe(perf_counter_ns() - started_ns)


async def _take(engine: Engine, queue: Queue, shard: Shard, request: TakeRequest) -> Taken | None:
    """What the cache returns; None if it is absent or being filled. Raises CacheUnavailable if it can't be reached or
    trusted."""
    if engine.dirt.is_on(shard):
        raise CacheUnavailable(f"The cache of {queue.name} is out of date.")
    if queue.settings.is_fifo and not fifo_order.may_hand_out(engine, shard):
        return None
    taken = await engine.cache.take(shard, request)
    if taken.residency is Residency.READY:
        return taken
    if taken.residency is Residency.ABSENT:
        residency.ensure(engine, queue)
    return None


async def _look_in_store(engine: Engine, queue: Queue, take: TakeRequest, receiver_id: str) -> _Look:
    """Return-From-Cassandra. Returns nothing on a node that alone has lost the cache, where the others may hold the
    same messages, or in a data centre whose messages another one may hand out. A shard is also absent if another node
    has just purged or deleted the queue; its messages may remain in the store for some time."""
    cluster, shard = engine.cluster, shard_of(queue)
    if cluster.membership.is_lost_here_alone(cluster.place(shard)):
        return _Look([], is_from_store=True)
    if cluster.homes is not None and not await cluster.homes.may_serve_from_store(shard):
        return _Look([], is_from_store=True)
    present = await lookup.present(engine, queue.key)
    if present is None or present.storage_id != queue.storage_id:
        return _Look([], is_from_store=True)
    taken = await fallback.take(engine, queue, take.count_max, take.visibility_ms)
    received = [one for _, one in taken]
    if received:
        engine.witness.received(queue, received, is_from_store=True, receiver_id=receiver_id)
    deliveries = [Delivery(message, one, deliver.handle_of(engine, queue, one)) for message, one in taken]
    return _Look(deliveries, is_from_store=True)


def _take_request(engine: Engine, queue: Queue, request: ReceiveRequest) -> TakeRequest:
    settings = queue.settings
    return TakeRequest(
        count_max=request.count_max,
        visibility_ms=settings.visibility_ms if request.visibility_ms is None else request.visibility_ms,
        retention_ms=settings.retention_ms,
        receive_count_max=queue_rules.receives_max(engine.registry, queue),
        in_flight_max=engine.tuning.in_flight_max,
        request_id=request.attempt_id,
        replay_ms=limits.ATTEMPT_WINDOW_MS,
        is_waiting=request.is_waiting,
    )


async def _dispose(engine: Engine, queue: Queue, taken: Taken) -> bool:
    """Handles the other messages that a take returned: expired ones are deleted from the store, those over their
    receive maximum go to the dead-letter queue. False: the latter is still in progress, so this look should take no
    more."""
    expiry.start(engine, queue, taken.expired)
    return not taken.dead or await redrive.bury(engine, queue, taken.dead)
