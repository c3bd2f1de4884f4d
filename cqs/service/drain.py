"""Takes a node out of service and puts it back. A load balancer sees it in /ready, the other nodes learn of it with the
next beat, and waiting receives are answered.

Requests in progress finish, and new ones are still served; the node only stops attracting traffic. So a node can be
drained before it is stopped without anybody noticing. Draining any worker of a node drains all of them, and a worker
that is replaced meanwhile starts drained like its peers. The state is lost when the node stops.
"""

from __future__ import annotations

import msgspec

from cqs.service.engine import Engine

_DRAIN, _IS_DRAINED = "drain", "drained"
_ON, _OFF = "on", "off"


class Drained(msgspec.Struct, frozen=True):
    """The result of a change: how many waiting receives were answered, and how many workers applied it."""

    answered: int
    workers: int


async def drain(engine: Engine) -> Drained:
    """Takes the node out of service. Idempotent."""
    answers = await engine.fellows.ask(_DRAIN, _ON)
    here = _apply(engine, _ON)
    return Drained(here + sum(map(int, answers.values())), 1 + len(answers))


async def resume(engine: Engine) -> Drained:
    """Puts the node back into service. Idempotent."""
    answers = await engine.fellows.ask(_DRAIN, _OFF)
    _apply(engine, _OFF)
    return Drained(0, 1 + len(answers))


async def join(engine: Engine) -> None:
    """Call when a worker starts: it takes part in drains from now on, and is drained if its peers are."""

    async def hear(wish: str) -> bytes:
        return b"%d" % _apply(engine, wish)

    async def tell(_: str) -> bytes:
        return _ON.encode() if engine.waiters.is_draining else _OFF.encode()

    engine.fellows.answer(_DRAIN, hear)
    engine.fellows.answer(_IS_DRAINED, tell)
    if _ON.encode() in (await engine.fellows.ask(_IS_DRAINED)).values():
        _apply(engine, _ON)


def _apply(engine: Engine, wish: str) -> int:
    """Applies it to this worker; returns how many receives were waiting here."""
    waiting = len(engine.waiters)
    if wish == _ON:
        engine.waiters.drain()
    else:
        engine.waiters.resume()
    engine.cluster.membership.drain(wish == _ON)
    return waiting
