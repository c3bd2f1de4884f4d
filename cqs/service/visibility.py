"""ChangeMessageVisibility. An acknowledged change is durable, so that a consumer's heartbeat survives a crash.

The cache decides, fenced by the receive number in the handle; the new end of the lease then goes to the store. If the
cache does not know the message, which it may have lost, the store's leases decide. If they do not know it either,
another node may have purged the queue before it was sent (see `cqs.service.delete`): the queue is read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from cqs import limits
from cqs.cache.interface import Outcome, Ticket
from cqs.errors import (
    CacheUnavailable,
    InvalidParameterValue,
    OutcomeUnknown,
    ReceiptHandleIsInvalid,
    SqsError,
    StoreUnavailable,
)
from cqs.queue import Queue
from cqs.receipt import Receipt
from cqs.service import fallback, leases, lookup
from cqs.service.engine import Engine, shard_of

_GONE = "Message does not exist or is not available for visibility timeout change."
_EXPIRED = "The receipt handle has expired."


async def change(engine: Engine, queue: Queue, handle: str, timeout_ms: int) -> None:
    """Makes the message visible `timeout_ms` from now; 0 = at once. Raises ReceiptHandleIsInvalid,
    InvalidParameterValue (gone, stale handle, or over 12 h after the receive), QueueDoesNotExist, StoreUnavailable,
    OutcomeUnknown."""
    error = (await change_batch(engine, queue, [(handle, timeout_ms)]))[0]
    if error is not None:
        raise error


async def change_batch(engine: Engine, queue: Queue, changes: Sequence[tuple[str, int]]) -> list[SqsError | None]:
    """As `change`, with one durable write for all. Returns the error of each, or None."""
    try:
        return await _change_batch(engine, queue, changes)
    except _Purged as purged:
        return await change_batch(engine, purged.queue, changes)


class _Purged(Exception):
    """Another node has purged the queue, which is now this one."""

    def __init__(self, queue: Queue) -> None:
        super().__init__(queue.name)
        self.queue = queue


async def _change_batch(engine: Engine, queue: Queue, changes: Sequence[tuple[str, int]]) -> list[SqsError | None]:
    now_ms = engine.clock.now_ms()
    answers: list[SqsError | None] = []
    done: list[tuple[Receipt, int]] = []
    try:
        for handle, timeout_ms in changes:
            try:
                receipt = await _hide(engine, queue, handle, now_ms, timeout_ms)
            except SqsError as error:
                answers.append(error)
            else:
                answers.append(None)
                done.append((receipt, now_ms + timeout_ms))
        if done:
            await _write_down(engine, queue, done)
    except (StoreUnavailable, OutcomeUnknown, asyncio.CancelledError):
        _tell(engine, queue, [(receipt, now_ms) for receipt, _ in done])
        raise
    _tell(engine, queue, done)
    return answers


async def _hide(engine: Engine, queue: Queue, handle: str, now_ms: int, timeout_ms: int) -> Receipt:
    """Changes it in the cache and returns the parsed handle."""
    receipt = engine.receipts.read(handle, queue.uid)
    if receipt is None:
        raise ReceiptHandleIsInvalid(handle)
    if timeout_ms and now_ms + timeout_ms > receipt.received_ms + limits.VISIBILITY_S_MAX * 1000:
        raise InvalidParameterValue.of(
            timeout_ms // 1000,
            "VisibilityTimeout",
            f"Total VisibilityTimeout for the message is beyond the limit [{limits.VISIBILITY_S_MAX} seconds]",
        )
    ticket = Ticket(receipt.address, receipt.receive_number)
    try:
        outcome = await engine.cache.hide(shard_of(queue), ticket, now_ms + timeout_ms)
    except CacheUnavailable:
        outcome = Outcome.GONE
    if outcome is Outcome.GONE:
        outcome = await fallback.hide(engine, queue, ticket, now_ms + timeout_ms)
        if outcome is Outcome.GONE:
            await _check_current(engine, queue)
    else:
        engine.fallback.forget(shard_of(queue), [ticket.address])
    if outcome is Outcome.DONE and not timeout_ms:
        engine.waiters.wake(queue.uid, 1)
    if outcome is not Outcome.DONE:
        is_expired = outcome is Outcome.STALE and queue.settings.is_fifo
        raise InvalidParameterValue.of(handle, "ReceiptHandle", _EXPIRED if is_expired else _GONE)
    return receipt


async def _check_current(engine: Engine, queue: Queue) -> None:
    present = await lookup.renewed(engine, queue)
    if present.storage_id != queue.storage_id:
        raise _Purged(present)


async def _write_down(engine: Engine, queue: Queue, done: Sequence[tuple[Receipt, int]]) -> None:
    """Stores the changed leases; those changed by the fallback are stored already. If somebody else has taken a message
    since, its lease is theirs to store."""
    try:
        known = await engine.cache.lookup(shard_of(queue), [receipt.address for receipt, _ in done])
    except CacheUnavailable:
        known = []
    changed = [
        leases.of_entry(entry, until_ms)
        for entry, (receipt, until_ms) in zip(known, done, strict=False)
        if entry is not None and entry.receive_number == receipt.receive_number
    ]
    if changed:
        await engine.store.lease(queue, changed)


def _tell(engine: Engine, queue: Queue, done: Sequence[tuple[Receipt, int]]) -> None:
    for receipt, until_ms in done:
        engine.witness.hidden(queue, receipt, until_ms)
