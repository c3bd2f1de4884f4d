"""Many calls, a bounded number of them at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def side_by_side(calls: Sequence[Callable[[], Awaitable[T]]], at_once: int) -> list[T]:
    """Their answers, in order. Raises what the first of them raises; those after its part are not begun then."""
    answers: list[T] = []
    for start in range(0, len(calls), at_once):
        answers += await asyncio.gather(*[call() for call in calls[start : start + at_once]])
    return answers
