"""Redis replies, and what their errors mean."""

from __future__ import annotations

import asyncio

import hiredis

from cqs.errors import CacheUnavailable

Reply = bytes | int | list["Reply"] | None


class ConnectionLost(CacheUnavailable):
    """The connection was lost or given up before the answer came: the call may have taken effect."""


class Refused(CacheUnavailable):
    """Redis answered this call with an error; other calls may succeed."""


class UnknownScript(Refused):
    """NOSCRIPT: Redis was restarted or its scripts were flushed."""


_UNFIT = ("LOADING", "READONLY", "MASTERDOWN", "MISCONF", "BUSY", "NOAUTH", "NOPERM", "CLUSTERDOWN")
"""Errors that make the server unusable at the moment, whatever the call."""


def settle(future: asyncio.Future[Reply], reply: object, server: str) -> None:
    """Completes the caller's future, unless it was dropped, with the reply or with the error it stands for."""
    if future.done():
        return
    if isinstance(reply, hiredis.ReplyError):
        text = str(reply)
        kind: type[CacheUnavailable] = CacheUnavailable if text.startswith(_UNFIT) else Refused
        if text.startswith("NOSCRIPT"):
            kind = UnknownScript
        future.set_exception(kind(f"Redis {server}: {text}"))
    else:
        future.set_result(reply)  # type: ignore[arg-type]


def unasked(reply: object) -> str:
    """Why a connection ends whose server replied to nothing. A server that refuses connections says so at once, before
    it reads anything (protected mode, `maxclients`)."""
    return str(reply) if isinstance(reply, hiredis.ReplyError) else f"sent an invalid reply: {reply!r}, unasked"
