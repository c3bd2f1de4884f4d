"""The heartbeat of a node with peers: it renews membership, exchanges news, and tries to become or stay the leader.

    beat ──► send pending news ──► receive news ──► read the dirty marks ──► renew leadership

An unreachable store is logged once per outage. The node keeps its state meanwhile; its leases expire by themselves.
"""

from __future__ import annotations

import asyncio

import structlog

from cqs.errors import CqsError
from cqs.service import abroad, marking, move_news, news, repair, telling
from cqs.service.engine import Engine
from cqs.service.membership import BEAT_MS

_log = structlog.get_logger("cqs.heartbeat")


async def run(engine: Engine) -> None:
    """Beats for ever; returns at once on a node that is alone."""
    is_away = False
    while not engine.cluster.is_alone:
        try:
            await step(engine)
            is_away = False
        except CqsError as error:
            if not is_away:
                _log.warning("cluster_out_of_reach", reason=str(error))
            is_away = True
        await asyncio.sleep(BEAT_MS / 1_000)


async def step(engine: Engine) -> None:
    """One beat. Raises StoreUnavailable, OutcomeUnknown."""
    cluster = engine.cluster
    began_s = cluster.leadership.now_s
    await cluster.membership.beat()
    engine.marks.beaten_s = began_s
    await news.say(engine)
    await telling.tell(engine)
    await _hear(engine)
    await marking.step(engine)
    was_leader = cluster.leadership.is_held
    await cluster.leadership.renew()
    await cluster.tending.renew()
    if cluster.leadership.is_held and not was_leader:
        _log.info("leads", node=cluster.name)
        await move_news.read_all(engine)
        engine.moves.stir()


async def leave(engine: Engine) -> None:
    """This node stops, with all calls answered. First it repairs what its caches did not confirm, as far as they
    answer. A mark left behind would make other nodes drop the shard, and the refill would miss the leases of the last
    moment. Raises StoreUnavailable, OutcomeUnknown."""
    try:
        if not engine.cluster.is_alone:
            await repair.step(engine)
            await marking.remove_done(engine, is_end=True)
    finally:
        await engine.cluster.leave()


async def _hear(engine: Engine) -> None:
    """News is delivered only once, so it is kept until it has been applied; what fails here is retried at the next
    beat."""
    began_s, began_ms = engine.cluster.leadership.now_s, engine.clock.now_ms()
    heard = await engine.cluster.coordination.news()
    unheard = engine.cluster.unheard
    unheard.extend([None] if heard is None else heard)
    known = [one for one in unheard if one is not None]
    if len(known) < len(unheard):
        await news.reload(engine)
        await move_news.read_all(engine)
    await news.hear_queues(engine, known)
    engine.cluster.heard.note_news(began_s)
    await move_news.hear(engine, known)
    await telling.hear(engine, known)
    await abroad.step(engine, known, began_ms)
    unheard.clear()
