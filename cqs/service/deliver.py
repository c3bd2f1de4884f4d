"""Turns taken messages into deliveries with contents, leases and receipt handles, and takes them back if the response
does not reach the client.

Leases are written to the store so that visibility timeouts and receive counts survive the loss of the cache. A standard
receive does not wait for the write, so messages received in the last 20 ms before a crash may be redelivered. A FIFO
receive waits, since order within a group depends on it, and then asks the cache again:

    node A                          Redis                       node B
    ──────                          ─────                       ──────
    takes m: lease 5 ──────────────► restarted empty
    is slow to write the lease       ◄───────────────────────── fills it: the store has no lease of m
                                     m: lease 6 ──────────────► takes m, and hands it out
    lease 5 is in the store
    asks: not current ◄───────────── m: lease 6
    hands out nothing

A receive with an attempt id is never given back, since its retry may hold the messages by then:

    receive, attempt x                     the same, retried when the connection broke
    ──────────────────                     ───────────────────────────────────────────
    takes m: lease 5
                                           takes m: lease 5 again ──► answered, and being processed
    the lease can't be written, or the
    client is gone: m is given back        … and m goes to another consumer as well
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import msgspec

from cqs.cache.interface import Outcome, Received
from cqs.errors import CacheUnavailable, OutcomeUnknown, ServiceUnavailable, StoreUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.receipt import Receipt
from cqs.service import confirm, leases
from cqs.service.engine import Engine, shard_of


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message on its way to a client."""

    message: Message
    received: Received
    handle: str


async def deliver(
    engine: Engine, queue: Queue, received: list[Received], receiver_id: str, attempt_id: str
) -> list[Delivery]:
    """Those of the messages just taken that still exist and, in a FIFO queue, are still held, with their handles.
    Raises StoreUnavailable, OutcomeUnknown; all are given back then."""
    try:
        messages = await _messages(engine, queue, received)
        written = [leases.of_received(one) for one in received]
        if queue.settings.is_fifo:
            await engine.store.lease(queue, written)
            received = await _still_held(engine, queue, received, attempt_id)
        elif engine.tuning.is_leases_on:
            engine.store.lease_soon(queue, written)
    except (StoreUnavailable, OutcomeUnknown):
        await give_back(engine, queue, received, attempt_id)
        raise
    present = [_with_content(one, messages[one.address]) for one in received if one.address in messages]
    if len(present) < len(received):
        await confirm.remove(engine, queue, [one.address for one in received if one.address not in messages])
    if present:
        engine.witness.received(queue, present, is_from_store=False, receiver_id=receiver_id)
    return [Delivery(messages[one.address], one, handle_of(engine, queue, one)) for one in present]


async def _still_held(engine: Engine, queue: Queue, received: list[Received], attempt_id: str) -> list[Received]:
    """Those that the cache still knows as taken by this receive. The others may be anybody's by now, and their leases
    in the store just end. If the cache does not answer, all are given back."""
    asked = [one for one in received if one.hidden_until_ms > one.received_ms]
    if not asked:
        return received
    try:
        outcomes = await engine.cache.fence(shard_of(queue), [one.ticket for one in asked], 0)
    except ServiceUnavailable:
        return []
    except CacheUnavailable:
        await give_back(engine, queue, received, attempt_id)
        return []
    lost = {one.address for one, outcome in zip(asked, outcomes, strict=True) if outcome is not Outcome.DONE}
    return [one for one in received if one.address not in lost]


def _with_content(received: Received, message: Message) -> Received:
    return received if received.message is not None else msgspec.structs.replace(received, message=message)


async def _messages(engine: Engine, queue: Queue, received: list[Received]) -> dict[int, Message]:
    """The contents by address. An address that is neither in the cache nor in the store was deleted or corrupted."""
    messages = {one.address: one.message for one in received if one.message is not None}
    if len(messages) < len(received):
        wanted = [one.address for one in received if one.message is None]
        engine.metrics.queues.meet(queue).bodies_from_store += len(wanted)
        messages.update((message.address, message) for message in await engine.store.read(queue, wanted))
    return messages


def handle_of(engine: Engine, queue: Queue, received: Received) -> str:
    """The receipt handle of this receive."""
    return engine.receipts.write(Receipt(received.address, queue.uid, received.receive_number, received.received_ms))


async def give_back(engine: Engine, queue: Queue, received: Sequence[Received], attempt_id: str) -> None:
    """Makes the messages ready again in their old position, and does not count the receives. With an attempt id they
    stay hidden for the retry."""
    if attempt_id:
        return
    count = 0
    with contextlib.suppress(CacheUnavailable):
        count = await engine.cache.give_back(shard_of(queue), [one.ticket for one in received])
    engine.fallback.forget(shard_of(queue), [one.address for one in received])
    if queue.settings.is_fifo or engine.tuning.is_leases_on:
        engine.store.lease_soon(queue, [leases.undone(one) for one in received])
    engine.witness.given_back(queue, received)
    engine.waiters.wake(queue.uid, count)
