"""DeleteMessage: the store first, then the cache. Acknowledged when no node can hand out the message any more.

A crash between the two causes at most one redelivery. On a standard queue any receipt handle of the message deletes it,
even an old one (as on SQS). On a FIFO queue only the current lease may. The lease is fenced first, so that it can't
expire and the message go to another consumer while the delete is on its way to the store.

    consumer A                     clock                     consumer B            without the fence
    ──────────                     ─────                     ──────────
    delete: lease is valid
                                   A's timeout
                                                             receives the message
    store.delete … acknowledged                              … still works on it

If the cache does not know the message (it may have lost it, and who holds it), the store's leases decide.

If the cache does not confirm the removal, the message may still be ready there for other nodes. They are told before
the client is answered (`cqs.service.marking`).

If the cache does not know the message, another node may have purged the queue before it was sent:

    node A                        node B, which has not heard of it      without a look at the queue in the store
    ──────                        ─────────────────────────────────      ────────────────────────────────────────
    purges: generation 4
    sends m, hands it out
                                  deletes m of generation 3: nothing
                                  generation 4: deletes m there          … acknowledged, and m is handed out again
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns

from cqs.cache.interface import Outcome, Ticket
from cqs.errors import (
    CacheUnavailable,
    OutcomeUnknown,
    ReceiptHandleExpired,
    ReceiptHandleIsInvalid,
    SqsError,
    StoreUnavailable,
    after_a_write,
)
from cqs.queue import Queue
from cqs.receipt import Receipt
from cqs.service import confirm, erasing, fallback, lookup, marking
from cqs.service.engine import Engine, shard_of

FENCE_MS = 10_000
"""The least time that a FIFO lease still lasts once its delete has begun."""


async def delete(engine: Engine, queue: Queue, handle: str) -> None:
    """Idempotent: deleting a message that is already gone succeeds. Raises ReceiptHandleIsInvalid for a handle that
    this cluster did not issue for this queue, ReceiptHandleExpired (FIFO), and as `erase`."""
    error = (await delete_batch(engine, queue, [handle]))[0]
    if error is not None:
        raise error


async def delete_batch(engine: Engine, queue: Queue, handles: Sequence[str]) -> list[SqsError | None]:
    """As `delete`, in one commit. Returns the error for each handle, or None if it was deleted."""
    started_ns = perf_counter_ns()
    receipts = [engine.receipts.read(handle, queue.uid) for handle in handles]
    errors: list[SqsError | None] = [
        ReceiptHandleIsInvalid(handle) if receipt is None else None
        for handle, receipt in zip(handles, receipts, strict=True)
    ]
    if queue.settings.is_fifo:
        await _fence(engine, queue, handles, receipts, errors)
    addresses = [r.address for r, error in zip(receipts, errors, strict=True) if r is not None and error is None]
    if addresses:
        present = await erase(engine, queue, addresses)
        if present.storage_id != queue.storage_id:
            return await delete_batch(engine, present, handles)
        engine.metrics.queues.meet(queue).delete_times.observe(perf_counter_ns() - started_ns)
    return errors


async def erase(engine: Engine, queue: Queue, addresses: Sequence[int]) -> Queue:
    """When it returns, the messages are deleted and no node hands them out any more. Returns the queue as it is now: if
    it was purged through another node, its new messages have not been touched. Raises QueueDoesNotExist if it is gone,
    StoreUnavailable, OutcomeUnknown; idempotent."""
    begun_ms = engine.clock.now_ms() if queue.settings.is_fifo else 0
    await erasing.erase(engine, queue, addresses)
    present = queue
    try:
        known = await confirm.remove(engine, queue, addresses)
        if known != len(addresses):
            with after_a_write("Deleted, unless the queue was purged a moment ago."):
                present = await lookup.renewed(engine, queue)
    finally:
        if present.storage_id == queue.storage_id:
            engine.witness.deleted(queue, addresses, begun_ms)
    if known is None:
        try:
            await marking.make_known(engine, shard_of(queue))
        except StoreUnavailable as error:
            raise OutcomeUnknown(f"Deleted, but the other nodes could not be told. {error}") from error
    return present


async def _fence(
    engine: Engine,
    queue: Queue,
    handles: Sequence[str],
    receipts: Sequence[Receipt | None],
    errors: list[SqsError | None],
) -> None:
    places = [place for place, receipt in enumerate(receipts) if receipt is not None]
    tickets = [Ticket(r.address, r.receive_number) for r in receipts if r is not None]
    try:
        outcomes = await engine.cache.fence(shard_of(queue), tickets, FENCE_MS)
    except CacheUnavailable:
        outcomes = [Outcome.GONE] * len(tickets)
    unknown = [at for at, outcome in enumerate(outcomes) if outcome is Outcome.GONE]
    told = await fallback.fence(engine, queue, [tickets[at] for at in unknown]) if unknown else []
    known = dict(enumerate(outcomes)) | dict(zip(unknown, told, strict=True))
    for at, place in enumerate(places):
        if known[at] is Outcome.STALE:
            reason = f"{ReceiptHandleExpired.REASON}."
            errors[place] = ReceiptHandleExpired.of(handles[place], "ReceiptHandle", reason)
