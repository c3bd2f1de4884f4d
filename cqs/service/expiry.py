"""Deletes messages past their retention. Deletion is permanent, so no single clock decides it:

    a node whose clock jumped ahead       fills a shard: every message looks too old ┐
    a Redis whose clock jumped ahead      drops every message that is requested      ┴─► and the store still has them

The earlier of this node's clock and the store's decides, with a tolerance of SKEW_MS_MAX for messages dropped by a
cache. A message expired by neither clock is treated as dirt and put back (`cqs.service.dirt`); one expired by only one
of them is left to the next fill or sweep.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from cqs import ids
from cqs.queue import Queue
from cqs.service import erasing, marking
from cqs.service.engine import Engine, shard_of
from cqs.service.membership import AHEAD_MS_MAX

DELETED_AT_ONCE = 500
READ_AT_ONCE = 20
"""Messages read per step; they come with their bodies."""
SKEW_MS_MAX = 2 * AHEAD_MS_MAX
"""The most that two acceptable clocks may differ by."""
_log = structlog.get_logger("cqs.expiry")


async def earlier_ms(engine: Engine) -> int:
    """The earlier of this node's clock and the store's. Raises StoreUnavailable."""
    return min(await _times_ms(engine))


async def _times_ms(engine: Engine) -> tuple[int, int]:
    here_ms = engine.clock.now_ms()
    return here_ms, here_ms if engine.cluster.is_alone else await engine.cluster.coordination.now_ms()


def start(engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
    """Deletes, in the background, messages that the cache dropped or a fill found expired. Batches run one at a time,
    so that a million messages expiring at once do not delay sends."""
    if addresses:
        engine.expiring.add(queue, addresses)
        engine.background.start_in_turn("delete_expired", lambda: _delete_all(engine))


async def _delete_all(engine: Engine) -> None:
    while taken := engine.expiring.take(DELETED_AT_ONCE):
        await delete(engine, *taken)


async def delete(engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
    """Deletes from the store those of the messages dropped by the cache that have really expired. The address tells a
    message's age, but a moved message may be older, so messages with young addresses are read. Idempotent. Raises
    StoreUnavailable, OutcomeUnknown."""
    queue = engine.registry.of_storage(queue.storage_id) or queue
    times_ms, kept_ms = await _times_ms(engine), queue.settings.retention_ms - SKEW_MS_MAX
    oldest_ms, young_ms = min(times_ms) - kept_ms, max(times_ms) - kept_ms
    over = [address for address in addresses if ids.ms_of(address) <= oldest_ms]
    young = [address for address in addresses if ids.ms_of(address) > oldest_ms]
    for start in range(0, len(young), READ_AT_ONCE):
        stored = await engine.store.read(queue, young[start : start + READ_AT_ONCE])
        over += [message.address for message in stored if message.sent_ms <= oldest_ms]
        early = [message.address for message in stored if message.sent_ms > young_ms]
        if early:
            _log.warning("expired_too_early", queue=queue.name, count=len(early), hint="a clock may be wrong")
            await marking.unconfirmed(engine, shard_of(queue), early)
    if over:
        await erase(engine, queue, over)


async def erase(engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
    """Deletes them, and reports them expired when done. Idempotent. Raises StoreUnavailable, OutcomeUnknown."""
    await erasing.erase(engine, queue, addresses)
    engine.witness.expired(queue, addresses)
