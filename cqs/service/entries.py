"""Cache entries of messages. New messages have no lease; messages that have been in the store for a while are put with
their last lease, whoever puts them. Without it, a message that somebody holds would become ready:

    consumer                       this node                              cache
    ────────                       ─────────                              ─────
    receives m, works on it                                               lost; being filled, m not read yet
                                   m is sent again: a duplicate, so
                                   m is put again ──────────────────────► m is ready, and handed out
                                                                          page of the fill: m, leased … known already
"""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.entry import Entry, State
from cqs.message import Message
from cqs.queue import Queue
from cqs.service.engine import Engine
from cqs.store.interface import Stored


def entry_of(engine: Engine, queue: Queue, message: Message) -> Entry:
    """The entry of a message that was stored a moment ago and has not been received yet."""
    present = _present(engine, queue) if queue.settings.is_fifo else queue
    visible_ms = _delayed_until_ms(present, message.sent_ms, message.visible_ms)
    return Entry(
        address=message.address,
        sent_ms=message.sent_ms,
        group=message.group,
        sequence=message.sequence,
        message=message,
        visible_ms=visible_ms,
        state=State.DELAYED if visible_ms else State.READY,
    )


async def entries_of(engine: Engine, queue: Queue, messages: Sequence[Message]) -> list[Entry]:
    """The entries of messages that were just read from the store, with their leases and contents. Raises
    StoreUnavailable."""
    if not messages:
        return []
    known = await engine.store.leases(queue, [message.address for message in messages])
    present, now_ms = _present(engine, queue), engine.clock.now_ms()
    entries = []
    for one, lease in zip(messages, known, strict=True):
        stored = Stored(one.address, one.sent_ms, one.visible_ms, one.group, one.sequence, lease)
        entry = entry_of_stored(present, stored, now_ms)
        entry.message = one
        entries.append(entry)
    return entries


def entry_of_stored(queue: Queue, stored: Stored, now_ms: int) -> Entry:
    """In flight until its lease expires; an expired lease still counts as a receive. Without content."""
    entry = Entry(address=stored.address, sent_ms=stored.sent_ms, group=stored.group, sequence=stored.sequence)
    lease = stored.lease
    if lease is not None:
        entry.receive_count = lease.receive_count
        entry.first_receive_ms = lease.first_receive_ms
        entry.receive_number = lease.receive_number
        if lease.hidden_until_ms > now_ms:
            entry.state, entry.visible_ms = State.IN_FLIGHT, lease.hidden_until_ms
            return entry
    delayed_until_ms = _delayed_until_ms(queue, stored.sent_ms, stored.visible_ms)
    if lease is None and delayed_until_ms > now_ms:
        entry.state, entry.visible_ms = State.DELAYED, delayed_until_ms
    return entry


def _present(engine: Engine, queue: Queue) -> Queue:
    """The queue as this node knows it now: it may have been changed while a message was being stored."""
    known = engine.registry.get(queue.key)
    return known if known is not None and known.uid == queue.uid else queue


def _delayed_until_ms(queue: Queue, sent_ms: int, visible_ms: int) -> int:
    """0 = not delayed, even if it was sent by a clock that has been set back since. On a FIFO queue the current delay
    also applies to messages sent before it was set (SQS); on a standard queue it does not."""
    if not queue.settings.is_fifo:
        return visible_ms
    delay_ms = queue.settings.delay_ms
    return sent_ms + delay_ms if delay_ms else 0
