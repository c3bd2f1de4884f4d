"""The beat of a node among others: it tells that it lives, hears what the others changed, and takes its turn to lead.

    beat ──► say what is unsaid ──► hear ──► look at the dirty marks ──► lead

A store that is out of reach is told once for each outage, and the node goes on as it is: its lease runs out by itself.
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
    """For ever, or not at all on a node that is alone."""
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
    await cluster.membership.beat()
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
    """This node ends, with all calls answered. What its caches did not confirm is made true, as far as they answer, so
    that no mark of it stands for the others to drop a shard by: what is filled anew knows no lease of the last moment.
    Raises StoreUnavailable, OutcomeUnknown."""
    try:
        if not engine.cluster.is_alone:
            await repair.step(engine)
            await marking.remove_done(engine, is_end=True)
    finally:
        await engine.cluster.leave()


async def _hear(engine: Engine) -> None:
    """What fails here is done again at the next beat: news come only once."""
    heard = await engine.cluster.coordination.news()
    unheard = engine.cluster.unheard
    unheard.extend([None] if heard is None else heard)
    known = [one for one in unheard if one is not None]
    if len(known) < len(unheard):
        await news.reload(engine)
        await move_news.read_all(engine)
    await news.hear_queues(engine, known)
    await move_news.hear(engine, known)
    await telling.hear(engine, known)
    await abroad.step(engine, known)
    unheard.clear()
