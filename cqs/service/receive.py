"""ReceiveMessage: take, then make sure of what was taken, then answer.

    take ──► dead? to the dead-letter queue ──► bodies (cache, else store) ──► lease written down ──► handles ──► answer
      ▲                                                                                                 │
      └──────────── give back: the client is gone, or the store failed; not counted ◄──────────────────┘

A lease goes to the store so that hiding and receive counts survive the loss of the cache. A standard receive does not
wait for it (what was received in the last 20 ms before a crash may repeat); a FIFO receive does, since order within a
group depends on it. Waiting for messages is `cqs.service.long_poll`'s: register, look, sleep.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from cqs import limits
from cqs.cache.interface import Received, Taken, TakeRequest
from cqs.errors import InvalidParameterValue, OverLimit, QueueDoesNotExist, StoreUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.receipt import Receipt
from cqs.service import draft_rules, redrive
from cqs.service.engine import Engine, shard_of
from cqs.store.interface import Lease

_LOOKS_MAX = 100
"""Takes that one look may need when all it takes are dead or damaged."""


class ReceiveRequest(msgspec.Struct, frozen=True, gc=False):
    """What a client asks for; None = the queue's setting. `attempt_id` only on FIFO queues."""

    count_max: int = 1
    visibility_ms: int | None = None
    wait_ms: int | None = None
    attempt_id: str = ""
    receiver_id: str = ""
    """Who asks, for the witness."""


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message on its way to a client."""

    message: Message
    received: Received
    handle: str


async def receive(
    engine: Engine, queue: Queue, request: ReceiveRequest, is_client_there: Callable[[], bool]
) -> list[Delivery]:
    """Up to `count_max` messages, now hidden; [] when none came in time or the client went away. Raises OverLimit
    (short poll, standard queue), QueueDoesNotExist when the queue is deleted meanwhile, StoreUnavailable."""
    _check_attempt(queue, request.attempt_id)
    wait_ms = queue.settings.receive_wait_ms if request.wait_ms is None else request.wait_ms
    deliveries, is_over_limit = await _look(engine, queue, request)
    if not deliveries and wait_ms:
        deliveries = await _wait(engine, queue, request, wait_ms, is_client_there)
    elif is_over_limit and not queue.settings.is_fifo:
        raise OverLimit(f"Too many messages in flight; the limit is {engine.tuning.in_flight_max} a queue.")
    if not deliveries:
        engine.witness.received_nothing(queue)
    return deliveries


def _check_attempt(queue: Queue, attempt_id: str) -> None:
    if attempt_id and not queue.settings.is_fifo:
        raise InvalidParameterValue.of(
            attempt_id,
            "ReceiveRequestAttemptId",
            "The request include parameter that is not valid for this queue type.",
        )
    if attempt_id:
        draft_rules.check_id("ReceiveRequestAttemptId", attempt_id)


async def give_back(engine: Engine, queue: Queue, deliveries: Sequence[Delivery]) -> None:
    """The answer reached nobody: the messages are ready again in their old place, the receives not counted."""
    await _return(engine, queue, [delivery.received for delivery in deliveries])


async def _wait(
    engine: Engine, queue: Queue, request: ReceiveRequest, wait_ms: int, is_client_there: Callable[[], bool]
) -> list[Delivery]:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_ms / 1000
    waiter = engine.waiters.register(queue.uid)
    is_woken = False
    try:
        while True:
            if is_woken and not is_client_there():
                return []
            present = engine.registry.get(queue.key)
            if present is None or present.uid != queue.uid:
                raise QueueDoesNotExist
            deliveries, _ = await _look(engine, present, request)
            if deliveries:
                is_woken = False
                return deliveries
            left_s = deadline - loop.time()
            if left_s <= 0 or waiter.is_over:
                return []
            await waiter.wait(left_s)
            is_woken = True
    finally:
        engine.waiters.leave(queue.uid, waiter)
        if is_woken:
            engine.waiters.wake(queue.uid, 1)


async def _look(engine: Engine, queue: Queue, request: ReceiveRequest) -> tuple[list[Delivery], bool]:
    """One look: deliveries, and whether too many are in flight."""
    shard = shard_of(queue)
    take = _take_request(engine, queue, request)
    for _ in range(_LOOKS_MAX):
        taken = await engine.cache.take(shard, take)
        await _dispose(engine, queue, taken)
        if taken.received:
            deliveries = await _deliver(engine, queue, taken.received, request.receiver_id)
            if deliveries:
                return deliveries, False
        elif not taken.dead and not taken.expired:
            return [], taken.is_over_limit
    return [], False


def _take_request(engine: Engine, queue: Queue, request: ReceiveRequest) -> TakeRequest:
    settings = queue.settings
    redrive_to = settings.redrive
    has_target = redrive_to is not None and engine.registry.of_arn(redrive_to.target_arn) is not None
    return TakeRequest(
        count_max=request.count_max,
        visibility_ms=settings.visibility_ms if request.visibility_ms is None else request.visibility_ms,
        retention_ms=settings.retention_ms,
        receive_count_max=redrive_to.receive_count_max if redrive_to is not None and has_target else 0,
        in_flight_max=engine.tuning.in_flight_max,
        request_id=request.attempt_id,
        replay_ms=limits.ATTEMPT_WINDOW_MS,
    )


async def _dispose(engine: Engine, queue: Queue, taken: Taken) -> None:
    """What a take found besides living messages: expired ones leave the store, over-received ones their queue."""
    if taken.expired:
        engine.witness.expired(queue, taken.expired)
        engine.background.start("delete_expired", engine.store.delete(queue, taken.expired))
    if taken.dead:
        await redrive.bury(engine, queue, taken.dead)


async def _deliver(engine: Engine, queue: Queue, received: list[Received], receiver_id: str) -> list[Delivery]:
    try:
        messages = await _messages(engine, queue, received)
        leases = [lease_of(one) for one in received]
        if queue.settings.is_fifo:
            await engine.store.lease(queue, leases)
        else:
            engine.store.lease_soon(queue, leases)
    except StoreUnavailable:
        await _return(engine, queue, received)
        raise
    present = [_with_content(one, messages[one.address]) for one in received if one.address in messages]
    if len(present) < len(received):
        await engine.cache.remove(shard_of(queue), [one.address for one in received if one.address not in messages])
    if present:
        engine.witness.received(queue, present, is_from_store=False, receiver_id=receiver_id)
    return [Delivery(messages[one.address], one, _handle(engine, queue, one)) for one in present]


def _with_content(received: Received, message: Message) -> Received:
    return received if received.message is not None else msgspec.structs.replace(received, message=message)


async def _messages(engine: Engine, queue: Queue, received: list[Received]) -> dict[int, Message]:
    """The contents by address. One that is neither in the cache nor in the store was deleted or damaged meanwhile."""
    messages = {one.address: one.message for one in received if one.message is not None}
    if len(messages) < len(received):
        wanted = [one.address for one in received if one.message is None]
        messages.update((message.address, message) for message in await engine.store.read(queue, wanted))
    return messages


def lease_of(received: Received) -> Lease:
    """The lease as the store writes it down."""
    return Lease(
        received.address,
        received.hidden_until_ms,
        received.receive_count,
        received.first_receive_ms,
        received.receive_number,
    )


def _handle(engine: Engine, queue: Queue, received: Received) -> str:
    return engine.receipts.write(Receipt(received.address, queue.uid, received.receive_number, received.received_ms))


def _undone(received: Received) -> Lease:
    """What the store is told of a receive that was given back, so that it neither hides nor counts after a restart."""
    count = received.receive_count - 1
    return Lease(received.address, 0, count, received.first_receive_ms if count else 0, received.receive_number)


async def _return(engine: Engine, queue: Queue, received: Sequence[Received]) -> None:
    count = await engine.cache.give_back(shard_of(queue), [one.ticket for one in received])
    engine.store.lease_soon(queue, [_undone(one) for one in received])
    engine.witness.given_back(queue, received)
    engine.waiters.wake(queue.uid, count)
