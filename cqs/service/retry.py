"""Waiting and retrying, for work that must succeed in the end. The pause is a parameter, so that tests can advance a
clock instead."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from cqs.errors import CqsError

RETRY_MIN_MS, RETRY_MAX_MS = 100, 10_000

Pause = Callable[[int], Awaitable[None]]
"""Waits this many milliseconds."""
_T = TypeVar("_T")
_log = structlog.get_logger("cqs.retry")


async def pause_ms(duration_ms: int) -> None:
    await asyncio.sleep(duration_ms / 1000)


async def insist(pause: Pause, what: str, call: Callable[[], Awaitable[_T]]) -> _T:
    """The result of `call`, which must be idempotent: retried with exponential backoff until it raises no CqsError."""
    retry_ms = RETRY_MIN_MS
    while True:
        try:
            return await call()
        except CqsError as error:
            _log.warning("retrying", step=what, reason=str(error), after_ms=retry_ms)
        await pause(retry_ms)
        retry_ms = longer(retry_ms)


def longer(retry_ms: int) -> int:
    """The next backoff delay."""
    return min(2 * retry_ms, RETRY_MAX_MS)
