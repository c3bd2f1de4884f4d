"""What Redis answers, and what it means when that is an error."""

from __future__ import annotations

import asyncio

import hiredis

from cqs.errors import CacheUnavailable

Reply = bytes | int | list["Reply"] | None


class ConnectionLost(CacheUnavailable):
    """The connection went away, or was given up, before the answer: the call may have taken effect."""


class Refused(CacheUnavailable):
    """Redis answered this call with an error; others may go well."""


class UnknownScript(Refused):
    """Redis was restarted or its scripts were flushed: NOSCRIPT."""


_UNFIT = ("LOADING", "READONLY", "MASTERDOWN", "MISCONF", "BUSY", "NOAUTH", "NOPERM", "CLUSTERDOWN")
"""Errors that say the server is of no use now, whatever is asked."""


def settle(future: asyncio.Future[Reply], reply: object, server: str) -> None:
    """Gives the caller its reply, or the error that it is."""
    if isinstance(reply, hiredis.ReplyError):
        text = str(reply)
        kind: type[CacheUnavailable] = CacheUnavailable if text.startswith(_UNFIT) else Refused
        if text.startswith("NOSCRIPT"):
            kind = UnknownScript
        future.set_exception(kind(f"Redis {server}: {text}"))
    else:
        future.set_result(reply)  # type: ignore[arg-type]
