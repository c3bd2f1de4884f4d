"""Return-From-Cassandra: receives while the cache is absent, being filled, dirty, or out of reach.

    heads of rows ──► not hidden by this node, not leased, not delayed, not expired ──► lease written and waited for

The paper hides nothing in this mode and accepts many duplicates. Here the node keeps its own list of what it has handed
out, and leases are read from the store before a message is handed out and written before it is answered; so a
duplicate needs two nodes at the same row in the same moment. A FIFO queue gives nothing in this mode, since its order
can't be kept without the cache; SQS allows an empty answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.interface import Outcome, Received, Shard, Ticket
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import leases
from cqs.service.engine import Engine, shard_of
from cqs.store.interface import Lease

READ_AHEAD = 20
"""Messages looked at for each one wanted: those in front may be hidden."""
HEAD_MAX = 1_000


async def take(engine: Engine, queue: Queue, count_max: int, visibility_ms: int) -> list[tuple[Message, Received]]:
    """Up to `count_max` messages straight from the store, hidden for everybody who asks the store. Raises
    StoreUnavailable, OutcomeUnknown."""
    if queue.settings.is_fifo:
        return []
    shard = shard_of(queue)
    free = await _free(engine, queue, shard, count_max)
    now_ms = engine.clock.now_ms()
    taken: list[tuple[Message, Received]] = []
    for message, lease in free[:count_max]:
        received = _received(engine, message, lease, now_ms, visibility_ms)
        if visibility_ms:
            engine.fallback.note(shard, leases.of_received(received))
        taken.append((message, received))
    if taken:
        await engine.store.lease(queue, [leases.of_received(received) for _, received in taken])
    return taken


async def hide(engine: Engine, queue: Queue, ticket: Ticket, until_ms: int) -> Outcome:
    """Changes a lease while the cache can't: the store's leases decide. The caller writes the new end down."""
    known = (await engine.store.leases(queue, [ticket.address]))[0]
    if known is None:
        return Outcome.GONE if not await engine.store.read(queue, [ticket.address]) else Outcome.STALE
    is_over = known.hidden_until_ms <= engine.clock.now_ms()
    if known.receive_number != ticket.receive_number or (queue.settings.is_fifo and is_over):
        return Outcome.STALE
    shard = shard_of(queue)
    changed = Lease(known.address, until_ms, known.receive_count, known.first_receive_ms, known.receive_number)
    engine.fallback.note(shard, changed)
    engine.dirt.note(shard, [ticket.address])
    await engine.store.lease(queue, [changed])
    return Outcome.DONE


async def fence(engine: Engine, queue: Queue, tickets: Sequence[Ticket]) -> list[Outcome]:
    """Which of these leases are alive, by the store's word, which a FIFO receive waits for."""
    now_ms = engine.clock.now_ms()
    known = await engine.store.leases(queue, [ticket.address for ticket in tickets])
    return [_outcome(ticket, lease, now_ms) for ticket, lease in zip(tickets, known, strict=True)]


def _outcome(ticket: Ticket, lease: Lease | None, now_ms: int) -> Outcome:
    if lease is None:
        return Outcome.GONE
    is_living = lease.receive_number == ticket.receive_number and lease.hidden_until_ms > now_ms
    return Outcome.DONE if is_living else Outcome.STALE


async def _free(engine: Engine, queue: Queue, shard: Shard, wanted: int) -> list[tuple[Message, Lease | None]]:
    """The oldest messages that nobody holds, a few rows at a time, each with its last lease."""
    now_ms = engine.clock.now_ms()
    handed = engine.fallback.living(shard, now_ms)
    rows = await engine.store.occupied(queue, range(engine.store.rows))
    engine.rng.shuffle(rows)
    free: list[tuple[Message, Lease | None]] = []
    for row in rows:
        limit = min(HEAD_MAX, READ_AHEAD * wanted + len(handed))
        head = [
            message
            for message in await engine.store.head(queue, row, limit)
            if message.address not in handed
            and message.visible_ms <= now_ms < message.sent_ms + queue.settings.retention_ms
        ]
        known = await engine.store.leases(queue, [message.address for message in head]) if head else []
        free += [
            (message, lease)
            for message, lease in zip(head, known, strict=True)
            if lease is None or lease.hidden_until_ms <= now_ms
        ]
        if len(free) >= wanted:
            break
    return free


def _received(engine: Engine, message: Message, last: Lease | None, now_ms: int, visibility_ms: int) -> Received:
    return Received(
        address=message.address,
        sent_ms=message.sent_ms,
        group=message.group,
        sequence=message.sequence,
        message=message,
        receive_count=1 + (last.receive_count if last is not None else 0),
        first_receive_ms=last.first_receive_ms if last is not None and last.first_receive_ms else now_ms,
        receive_number=engine.fallback.next_number(now_ms),
        received_ms=now_ms,
        hidden_until_ms=now_ms + visibility_ms,
    )
