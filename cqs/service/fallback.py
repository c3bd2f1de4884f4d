"""Return-From-Cassandra: receives while the cache is absent, being filled, dirty or unreachable.

    heads of rows ──► not leased, not hidden by this node, not delayed, not expired ──► noted as hidden by this node
                                                                                                  │
    answer ◄── entered into the cache ◄── lease written and waited for ◄── read once more: not deleted ◄┘

The paper hides nothing in this mode and accepts many duplicates. Here each node keeps a list of what it has handed out,
reads leases from the store before it hands out a message, and writes one before it answers. So a duplicate needs two
nodes at the same row at the same moment while the cache is absent or unreachable. On a queue with a consistency hint
even that is detected: the lease is read again after it is written. The store keeps the highest number, and a node that
finds another node's number releases the message.

    this node                      another node
    ─────────                      ────────────
    leases: none of m              leases: none of m
    lease of m written, number 5
                                   lease of m written, number 3: the store keeps 5
    leases: m is mine              leases: m is another's, a collision

(A higher number written after the other node's second read still makes a duplicate.) A queue's consistency hint spreads
the nodes over its K oldest messages; without one, they start with different rows.

A FIFO queue returns nothing in this mode, since its order can't be kept without the cache; SQS allows an empty answer.
The second read is needed because a delete removes the lease along with the message:

    this node                      consumer of m
    ─────────                      ─────────────
    head: m, n
                                   deletes m, and its lease with it … acknowledged
    leases: none of m              without the second read, m would be handed out now

While a shard is being filled, it arbitrates between the filler and the nodes that serve from the store: the first to
enter a message owns it. Each node then reads whose lease is there. It releases messages that belong to another or are
ready for takers, and undoes its lease in the store, which would otherwise hide a message that nobody holds:

    this node                      filler                       a taker
    ─────────                      ──────                       ───────
                                   page: m, no lease
    leases: none of m
                                   fill m … last page: ready
    lease of m written                                          takes m: without the entry, both would have it
"""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.entry import Entry, State
from cqs.cache.interface import Outcome, Received, Residency, Ticket
from cqs.cluster import hint
from cqs.cluster.ring import Ring
from cqs.errors import CacheUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import fenced, leases, marking
from cqs.service.engine import Engine, shard_of
from cqs.service.epochs import Known
from cqs.service.hints import wish_of
from cqs.service.oldest import HEAD_MAX, READ_AHEAD, Free, look, oldest
from cqs.store.interface import Lease

Taken = list[tuple[Message, Received]]


async def take(engine: Engine, queue: Queue, count_max: int, visibility_ms: int) -> Taken:
    """Up to `count_max` messages read from the store, and hidden from everybody who reads leases there. Raises
    StoreUnavailable, OutcomeUnknown; this node has handed nothing out then."""
    if queue.settings.is_fifo:
        return []
    shard = shard_of(queue)
    known = engine.epochs.of(shard)
    wish = wish_of(queue.tags) if engine.tuning.is_hint_on else None
    with engine.hints.taking(shard, count_max):
        others = sum(node.is_open for node in engine.cluster.membership.others)
        k = None if wish is None else engine.hints.width(shard, wish, others, engine.clock.now_ms())
        taken: Taken = []
        try:
            await _choose(engine, queue, k, count_max, visibility_ms, taken)
            if taken:
                await engine.store.lease(queue, [leases.of_received(received) for _, received in taken])
            if not taken or not visibility_ms:
                return taken
            unbeaten = taken if k is None else await _unbeaten(engine, queue, taken)
            kept = await _entered(engine, queue, unbeaten, known)
        except BaseException:
            engine.fallback.forget(shard, [message.address for message, _ in taken])
            if visibility_ms:
                engine.store.lease_soon(queue, [leases.undone(received) for _, received in taken])
            raise
        if len(kept) < len(taken):
            engine.hints.collided(shard, others, engine.clock.now_ms())
    return kept


async def _choose(
    engine: Engine, queue: Queue, k: int | None, count_max: int, visibility_ms: int, taken: Taken
) -> None:
    """Adds up to `count_max` messages: random ones of the queue's K oldest; without K the oldest of each row, this
    node's rows first."""
    rows = await engine.store.occupied(queue, range(engine.store.rows))
    if k is not None:
        ahead = max(READ_AHEAD * count_max, engine.hints.wanted(shard_of(queue)) + count_max)
        free = _still_free(engine, queue, await oldest(engine, queue, rows, min(HEAD_MAX, k + ahead)))
        picked = [free[at] for at in hint.pick(k, len(free), count_max, engine.rng)]
        await _hold(engine, queue, picked, visibility_ms, taken)
        return
    engine.rng.shuffle(rows)
    for row in _own_first(engine, queue, rows):
        held = len(engine.fallback.living(shard_of(queue), engine.clock.now_ms()))
        free = (await look(engine, queue, row, min(HEAD_MAX, READ_AHEAD * count_max + held))).free
        await _hold(engine, queue, free[: count_max - len(taken)], visibility_ms, taken)
        if len(taken) >= count_max:
            return


def _still_free(engine: Engine, queue: Queue, free: list[Free]) -> list[Free]:
    """Rows were read one after another, so this node may hold more by now."""
    handed = engine.fallback.living(shard_of(queue), engine.clock.now_ms())
    return [one for one in free if one[0].address not in handed]


def _own_first(engine: Engine, queue: Queue, rows: list[int]) -> list[int]:
    """Nodes that serve from the store at the same time start with different rows, and meet only where theirs are
    empty."""
    nodes = [node.name for node in engine.cluster.membership.nodes if node.is_open]
    if len(nodes) < 2:
        return rows
    ring, me = Ring(dict.fromkeys(nodes, 1.0)), engine.cluster.name
    return sorted(rows, key=lambda row: ring.owner(b"%d/%d" % (queue.storage_id, row)) != me)


async def hide(engine: Engine, queue: Queue, ticket: Ticket, until_ms: int) -> Outcome:
    """Changes a lease while the cache can't: the store's leases decide. Writes the new end to the store."""
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
    """Which of these leases are valid, according to the store. FIFO receives wait for their lease to be written
    there."""
    now_ms = engine.clock.now_ms()
    known = await engine.store.leases(queue, [ticket.address for ticket in tickets])
    return [_outcome(ticket, lease, now_ms) for ticket, lease in zip(tickets, known, strict=True)]


def _outcome(ticket: Ticket, lease: Lease | None, now_ms: int) -> Outcome:
    if lease is None:
        return Outcome.GONE
    is_living = lease.receive_number == ticket.receive_number and lease.hidden_until_ms > now_ms
    return Outcome.DONE if is_living else Outcome.STALE


async def _hold(engine: Engine, queue: Queue, free: list[Free], visibility_ms: int, taken: Taken) -> None:
    """Adds these, noted as held, unless they were deleted meanwhile. Nothing may be awaited between checking what this
    node holds and this call."""
    if not free:
        return
    shard, now_ms = shard_of(queue), engine.clock.now_ms()
    held = [(message, _received(engine, message, lease, now_ms, visibility_ms)) for message, lease in free]
    taken += held
    if visibility_ms:
        for _, received in held:
            engine.fallback.note(shard, leases.of_received(received))
    present = {message.address for message in await engine.store.read(queue, [m.address for m, _ in held])}
    gone = [message.address for message, _ in held if message.address not in present]
    engine.fallback.forget(shard, gone)
    taken[:] = [one for one in taken if one[0].address not in gone]


async def _unbeaten(engine: Engine, queue: Queue, taken: Taken) -> Taken:
    """The messages whose lease in the store is ours. One without a lease was received by another node and deleted."""
    if not engine.cluster.membership.others:
        return taken
    known = await engine.store.leases(queue, [message.address for message, _ in taken])
    numbers = [None if lease is None else lease.receive_number for lease in known]
    return _ours(engine, queue, taken, numbers)


def _ours(engine: Engine, queue: Queue, taken: Taken, numbers: Sequence[int | None]) -> Taken:
    """Those with our receive number; the others are released."""
    pairs = list(zip(taken, numbers, strict=True))
    lost = [one[0].address for one, number in pairs if number != one[1].receive_number]
    engine.fallback.forget(shard_of(queue), lost)
    return [one for one, number in pairs if number == one[1].receive_number]


async def _entered(engine: Engine, queue: Queue, taken: Taken, seen: Known) -> Taken:
    """Enters the leases into the shard, unless it is absent or unreachable. Returns the messages whose lease is ours
    there. A message unknown to the shard was deleted, or the shard was dropped; in the latter case the store's lease is
    ours."""
    shard = shard_of(queue)
    if not taken:
        return taken
    try:
        if await fenced.put(engine, queue, [_entry(*one) for one in taken], seen) is Residency.ABSENT:
            return taken
        known = await engine.cache.lookup(shard, [message.address for message, _ in taken])
    except CacheUnavailable:
        await marking.unconfirmed(engine, shard, [message.address for message, _ in taken])
        await marking.make_known(engine, shard)
        return await _unbeaten(engine, queue, taken)
    unknown = [message.address for (message, _), entry in zip(taken, known, strict=True) if entry is None]
    stored = {message.address for message in await engine.store.read(queue, unknown)} if unknown else set()
    numbers = [
        entry.receive_number if entry is not None else received.receive_number if message.address in stored else None
        for (message, received), entry in zip(taken, known, strict=True)
    ]
    ready = {entry.address for entry in known if entry is not None and entry.state is not State.IN_FLIGHT}
    if ready:
        engine.store.lease_soon(queue, [leases.undone(received) for _, received in taken if received.address in ready])
    return _ours(engine, queue, taken, numbers)


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
