"""SendMessage: creates a message.

    check ──► (FIFO: claim) ──► store.append ═══► success from here on ──► witness ──► cache.put ──► wake ──► answer
                                 durable here

The store first, the cache second. A crash between them loses nothing: the next fill finds the message in the store. In
the other order, a message could be handed out that a crash then un-sends. (The first CQS returned an error if the cache
failed after the store had the message; its clients retried, and every message existed four times.)

A FIFO send first claims its deduplication id, which also assigns its position in the order:

    sender A                          sender B, same id
    ────────                          ─────────────────
    claim: new, sequence 7
                                      claim: waits, since A's append is under way
    append fails, release             claim: taken over, new, sequence 8          (had A's append succeeded:
                                      append …                                     A's id and sequence, no append)

A send with an unknown outcome may be in the store without the cache knowing. It is noted as dirt, so that repair finds
out (`cqs.service.dirt`); otherwise it would wait in the store until its shard is refilled.

When a client disconnects, its send still completes. A send cancelled by a stopping server has an unknown outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from time import perf_counter_ns

import msgspec

from cqs import digests, limits
from cqs.errors import (
    BatchRequestTooLong,
    InvalidParameterValue,
    MissingParameter,
    OutcomeUnknown,
    ServiceUnavailable,
    SqsError,
    StoreUnavailable,
    after_a_write,
)
from cqs.ids import text_of
from cqs.message import Attribute, Message
from cqs.queue import DedupScope, Queue
from cqs.service import abroad, confirm, draft_rules, fifo_order, lookup
from cqs.service.draft_rules import Draft
from cqs.service.engine import Engine, shard_of
from cqs.service.entries import entry_of
from cqs.service.epochs import Known
from cqs.store.interface import Wanted

_STORED = "Stored, but a later step could not be confirmed."


class Sent(msgspec.Struct, frozen=True, gc=False):
    """The answer to a send; "" and 0 = not applicable."""

    message_id: str
    md5_of_body: str
    md5_of_attributes: str = ""
    md5_of_system_attributes: str = ""
    sequence: int = 0


async def send(engine: Engine, queue: Queue, draft: Draft, sender_id: str) -> Sent:
    """Durable when it returns. Raises the SqsError of the rule that the draft violates; StoreUnavailable if nothing was
    stored; OutcomeUnknown if that is not known."""
    draft_rules.check(draft, queue.settings)
    return (await _send_checked(engine, queue, [draft], sender_id))[0]


async def send_batch(engine: Engine, queue: Queue, drafts: Sequence[Draft], sender_id: str) -> list[Sent | SqsError]:
    """As `send`, for up to ten drafts in one commit; answers in order. A draft that violates a rule fails alone, except
    for too many bytes in all and, on a FIFO queue, a missing group or deduplication id: these fail the whole call."""
    size = sum(map(draft_rules.size_of, drafts))
    if size > limits.BATCH_SIZE_MAX:
        raise BatchRequestTooLong(size, limits.BATCH_SIZE_MAX)
    if queue.settings.is_fifo:
        for draft in drafts:
            check_ids(queue, draft.group, draft.dedup_id)
    answers: list[Sent | SqsError | None] = []
    good: list[Draft] = []
    for draft in drafts:
        try:
            draft_rules.check(draft, queue.settings)
        except SqsError as error:
            answers.append(error)
        else:
            answers.append(None)
            good.append(draft)
    sent = iter(await _send_checked(engine, queue, good, sender_id) if good else [])
    return [next(sent) if answer is None else answer for answer in answers]


def check_ids(queue: Queue, group: str | None, dedup_id: str | None) -> None:
    """Of a message of a batch to a FIFO queue. Raises InvalidParameterValue, which fails the whole call, if one that
    the queue needs is missing."""
    if group is None:
        raise InvalidParameterValue(str(MissingParameter.named("MessageGroupId")))
    if dedup_id is None and not queue.settings.is_content_dedup:
        raise InvalidParameterValue(draft_rules.NO_DEDUP_ID)


async def _send_checked(engine: Engine, queue: Queue, drafts: Sequence[Draft], sender_id: str) -> list[Sent]:
    started_ns = perf_counter_ns()
    engine.cluster.membership.check()
    now_ms = engine.clock.now_ms()
    messages = [_message(engine, queue, draft, sender_id, now_ms) for draft in drafts]
    if queue.settings.is_fifo:
        sent = await _send_fifo(engine, queue, messages)
    else:
        known = engine.epochs.of(shard_of(queue))
        try:
            await engine.store.append(queue, messages)
        except (OutcomeUnknown, asyncio.CancelledError):
            _doubt(engine, queue, [message.address for message in messages])
            raise
        await _publish(engine, queue, messages, known)
        sent = [_answer(message, message.address, 0) for message in messages]
    engine.metrics.queues.meet(queue).send_times.observe(perf_counter_ns() - started_ns)
    return sent


async def _send_fifo(engine: Engine, queue: Queue, messages: Sequence[Message]) -> list[Sent]:
    fifo_order.check_sender(engine, queue)
    await abroad.check_sender(engine, queue)
    by_group = queue.settings.dedup_scope is DedupScope.GROUP
    wanted = [Wanted((m.group or "") if by_group else "", m.dedup_id or "", m.address) for m in messages]
    claims = await engine.store.claim(queue, wanted, limits.DEDUP_WINDOW_MS)
    fresh = [
        msgspec.structs.replace(message, sequence=claim.sequence)
        for message, claim in zip(messages, claims, strict=True)
        if claim.is_new
    ]
    if fresh:
        known = engine.epochs.of(shard_of(queue))
        await _append_claimed(engine, queue, fresh)
        await _publish(engine, queue, fresh, known)
    repeats = [claim.address for claim in claims if not claim.is_new]
    if repeats:
        with after_a_write(_STORED) if fresh else nullcontext():
            await fifo_order.make_sure(engine, queue, repeats)
        engine.witness.deduplicated(queue, repeats)
    with after_a_write(_STORED):
        await fifo_order.make_known(engine, queue, [claim.address for claim in claims])
    return [_answer(m, claim.address, claim.sequence) for m, claim in zip(messages, claims, strict=True)]


async def _append_claimed(engine: Engine, queue: Queue, messages: Sequence[Message]) -> None:
    """Appends, or releases the claims, so that no retry is answered with a message that does not exist. A message that
    may exist in only one data centre keeps its claim: the retry stores it again (`fifo_order.make_sure`)."""
    addresses = [message.address for message in messages]
    try:
        await engine.store.append(queue, messages)
    except StoreUnavailable:
        await engine.store.release(queue, addresses)
        raise
    except asyncio.CancelledError:
        _doubt(engine, queue, addresses)
        raise
    except OutcomeUnknown:
        _doubt(engine, queue, addresses)
        stored = [message.address for message in await engine.store.read(queue, addresses)]
        if len(await engine.cluster.certain(queue, stored)) < len(addresses):
            await engine.store.release(queue, addresses)
            raise
        if not engine.store.reads_confirm:
            raise


def _doubt(engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
    """It is unknown whether the store has these: marks them for repair and tells the audit."""
    engine.dirt.note(shard_of(queue), addresses)
    engine.witness.doubtful(queue, addresses)


async def _publish(engine: Engine, queue: Queue, messages: Sequence[Message], known: Known) -> None:
    engine.witness.sent(queue, messages)
    entries = [entry_of(engine, queue, message) for message in messages]
    is_put = await confirm.put(engine, queue, entries, known)
    cluster = engine.cluster
    if not cluster.is_alone and (not is_put or cluster.heard.is_late(queue.key, cluster.leadership.now_s)):
        with after_a_write(_STORED):
            await _check_current(engine, queue)


async def _check_current(engine: Engine, queue: Queue) -> None:
    """The shard may be absent or unreachable because another node has purged or deleted the queue (see
    `cqs.service.news`), or present though it has (`cqs.service.hearing`); then nobody will ever read these messages."""
    present = await lookup.renewed(engine, queue)
    if present.storage_id != queue.storage_id:
        raise ServiceUnavailable(f"{queue.name} was purged while this was sent. Send it again.")


def _message(engine: Engine, queue: Queue, draft: Draft, sender_id: str, now_ms: int) -> Message:
    settings = queue.settings
    delay_ms = draft.delay_ms if draft.delay_ms is not None and not settings.is_fifo else settings.delay_ms
    return Message(
        address=engine.addresses.next(engine.store.rows),
        body=draft.body,
        md5=digests.raw_of_body(draft.body),
        sent_ms=now_ms,
        visible_ms=now_ms + delay_ms if delay_ms else 0,
        sender_id=sender_id,
        attributes=draft.attributes,
        trace_header=draft.trace_header,
        group=draft.group,
        dedup_id=draft_rules.dedup_id_of(draft, settings) if settings.is_fifo else None,
    )


def _answer(message: Message, address: int, sequence: int) -> Sent:
    return Sent(
        text_of(address),
        message.md5.hex(),
        digests.of_attributes(message.attributes) if message.attributes else "",
        _md5_of_trace(message.trace_header) if message.trace_header else "",
        sequence,
    )


def _md5_of_trace(header: str) -> str:
    return digests.of_attributes((Attribute("AWSTraceHeader", "String", header.encode()),))


__all__ = ["Draft", "Sent", "send", "send_batch"]
