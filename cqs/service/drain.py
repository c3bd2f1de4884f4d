"""Taking a node out, and in again: a load balancer sees it by /ready, the other nodes hear of it with the next beat,
and receives that wait are answered.

Nothing that was accepted is broken off, and what still comes is served; the node only asks for no more. So it may be
drained before it is stopped, with nobody noticing. A node of several workers is drained with all of them, whichever is
asked; one that is replaced meanwhile does as its fellows do. Forgotten when the node ends.
"""

from __future__ import annotations

import msgspec

from cqs.service.engine import Engine

_DRAIN, _IS_DRAINED = "drain", "drained"
_ON, _OFF = "on", "off"


class Drained(msgspec.Struct, frozen=True):
    """What a change did: receives that waited and were answered, and how many workers heard of it."""

    answered: int
    workers: int


async def drain(engine: Engine) -> Drained:
    """Takes the node out. Idempotent."""
    answers = await engine.fellows.ask(_DRAIN, _ON)
    here = _apply(engine, _ON)
    return Drained(here + sum(map(int, answers.values())), 1 + len(answers))


async def resume(engine: Engine) -> Drained:
    """Takes the node in again. Idempotent."""
    answers = await engine.fellows.ask(_DRAIN, _OFF)
    _apply(engine, _OFF)
    return Drained(0, 1 + len(answers))


async def join(engine: Engine) -> None:
    """A worker that starts: hears its fellows from now on, and is drained if they are."""

    async def hear(wish: str) -> bytes:
        return b"%d" % _apply(engine, wish)

    async def tell(_: str) -> bytes:
        return _ON.encode() if engine.waiters.is_draining else _OFF.encode()

    engine.fellows.answer(_DRAIN, hear)
    engine.fellows.answer(_IS_DRAINED, tell)
    if _ON.encode() in (await engine.fellows.ask(_IS_DRAINED)).values():
        _apply(engine, _ON)


def _apply(engine: Engine, wish: str) -> int:
    """On this worker; how many receives waited here."""
    waiting = len(engine.waiters)
    if wish == _ON:
        engine.waiters.drain()
    else:
        engine.waiters.resume()
    engine.cluster.membership.drain(wish == _ON)
    return waiting
