"""Runs many calls with bounded concurrency."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def side_by_side(calls: Sequence[Callable[[], Awaitable[T]]], at_once: int) -> list[T]:
    """Their results, in order. Raises the error of the first that fails; calls after its portion are not started."""
    answers: list[T] = []
    for start in range(0, len(calls), at_once):
        answers += await asyncio.gather(*[call() for call in calls[start : start + at_once]])
    return answers
