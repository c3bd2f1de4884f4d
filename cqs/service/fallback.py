"""Return-From-Cassandra: receives while the cache is absent, being filled, dirty, or out of reach.

    heads of rows ──► not leased, not hidden by this node, not delayed, not expired ──► noted as hidden by this node
                                                                                                  │
    answer ◄── entered into the cache ◄── lease written and waited for ◄── read once more: not deleted ◄┘

The paper hides nothing in this mode and accepts many duplicates. Here the node keeps its own list of what it has handed
out, and leases are read from the store before a message is handed out and written before it is answered; so a
duplicate needs two nodes at the same row in the same moment, and a cache that is absent or out of reach. A FIFO queue
gives nothing in this mode, since its order can't be kept without the cache; SQS allows an empty answer.

The second read is there because a delete takes the lease away with the message:

    this node                      consumer of m
    ─────────                      ─────────────
    head: m, n
                                   deletes m, and its lease goes with it … acknowledged
    leases: none of m              without the second read, m would be handed out now

A shard that is being filled decides between its filler and everybody who serves from the store: the first to enter a
message has it. Each node then asks whose lease is there, and lets go of what is another's, or ready for takers:

    this node                      filler                       a taker
    ─────────                      ──────                       ───────
                                   page: m, no lease
    leases: none of m
                                   fill m … last page: ready
    lease of m written                                          takes m: without entering it, both would have it
"""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.interface import Entry, Outcome, Received, Residency, State, Ticket
from cqs.cluster.ring import Ring
from cqs.errors import CacheUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import leases, marking
from cqs.service.engine import Engine, shard_of
from cqs.store.interface import Lease

READ_AHEAD = 20
"""Messages looked at for each one wanted: those in front may be hidden."""
HEAD_MAX = 1_000

Taken = list[tuple[Message, Received]]


async def take(engine: Engine, queue: Queue, count_max: int, visibility_ms: int) -> Taken:
    """Up to `count_max` messages straight from the store, hidden for everybody who asks the store. Raises
    StoreUnavailable, OutcomeUnknown; then this node has handed nothing out."""
    if queue.settings.is_fifo:
        return []
    taken: Taken = []
    rows = await engine.store.occupied(queue, range(engine.store.rows))
    engine.rng.shuffle(rows)
    rows = _own_first(engine, queue, rows)
    try:
        for row in rows:
            await _take_row(engine, queue, row, count_max, visibility_ms, taken)
            if len(taken) >= count_max:
                break
        if taken:
            await engine.store.lease(queue, [leases.of_received(received) for _, received in taken])
        if taken and visibility_ms:
            taken = await _ours(engine, queue, taken)
    except BaseException:
        engine.fallback.forget(shard_of(queue), [message.address for message, _ in taken])
        raise
    return taken


def _own_first(engine: Engine, queue: Queue, rows: list[int]) -> list[int]:
    """Nodes that serve from the store at one time begin with different rows, and meet only where theirs are empty."""
    nodes = [node.name for node in engine.cluster.membership.nodes if node.is_open]
    if len(nodes) < 2:
        return rows
    ring, me = Ring(dict.fromkeys(nodes, 1.0)), engine.cluster.name
    return sorted(rows, key=lambda row: ring.owner(b"%d/%d" % (queue.storage_id, row)) != me)


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
    await engine.store.lease(queue, [changed])
    await marking.unconfirmed(engine, shard, [ticket.address])
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


async def _take_row(engine: Engine, queue: Queue, row: int, count_max: int, visibility_ms: int, taken: Taken) -> None:
    """Adds the oldest messages of a row that nobody holds. Nothing is awaited between the look at what this node holds
    and the note that these are held, too."""
    shard, now_ms, retention_ms = shard_of(queue), engine.clock.now_ms(), queue.settings.retention_ms
    limit = min(HEAD_MAX, READ_AHEAD * count_max + len(engine.fallback.living(shard, now_ms)))
    head = [
        message
        for message in await engine.store.head(queue, row, limit)
        if message.visible_ms <= now_ms < message.sent_ms + retention_ms
    ]
    known = await engine.store.leases(queue, [message.address for message in head]) if head else []
    handed = engine.fallback.living(shard, now_ms)
    free = [
        (message, _received(engine, message, lease, now_ms, visibility_ms))
        for message, lease in zip(head, known, strict=True)
        if message.address not in handed and (lease is None or lease.hidden_until_ms <= now_ms)
    ][: count_max - len(taken)]
    taken += free
    if visibility_ms:
        for _, received in free:
            engine.fallback.note(shard, leases.of_received(received))
    if free:
        present = {message.address for message in await engine.store.read(queue, [m.address for m, _ in free])}
        gone = [message.address for message, _ in free if message.address not in present]
        engine.fallback.forget(shard, gone)
        taken[:] = [one for one in taken if one[0].address not in gone]


async def _ours(engine: Engine, queue: Queue, taken: Taken) -> Taken:
    """Enters the leases into the shard, unless it is absent or out of reach. The messages whose lease is ours there."""
    shard = shard_of(queue)
    try:
        if await engine.cache.put(shard, [_entry(*one) for one in taken]) is Residency.ABSENT:
            return taken
        known = await engine.cache.lookup(shard, [message.address for message, _ in taken])
    except CacheUnavailable:
        await marking.unconfirmed(engine, shard, [message.address for message, _ in taken])
        return taken
    pairs = list(zip(taken, known, strict=True))
    ours = [one for one, entry in pairs if entry is not None and entry.receive_number == one[1].receive_number]
    kept = {message.address for message, _ in ours}
    engine.fallback.forget(shard, [message.address for message, _ in taken if message.address not in kept])
    return ours


def _entry(message: Message, received: Received) -> Entry:
    return Entry(
        address=message.address,
        sent_ms=message.sent_ms,
        group=message.group,
        message=message,
        state=State.IN_FLIGHT,
        visible_ms=received.hidden_until_ms,
        receive_count=received.receive_count,
        first_receive_ms=received.first_receive_ms,
        receive_number=received.receive_number,
    )


def _received(engine: Engine, message: Message, last: Lease | None, now_ms: int, visibility_ms: int) -> Received:
    return Received(
        address=message.address,
        sent_ms=message.sent_ms,
        group=message.group,
        sequence=message.sequence,
        message=message,
        receive_count=1 + (last.receive_count if last is not None else 0),
        first_receive_ms=last.first_receive_ms if last is not None and last.first_receive_ms else now_ms,
        receive_number=engine.fallback.next_number(now_ms, engine.rng),
        received_ms=now_ms,
        hidden_until_ms=now_ms + visibility_ms,
    )
