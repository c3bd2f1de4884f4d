"""Caches answers that are expensive to compute between refreshes of a page: an answer is kept for PAUSE times as long
as it took, so that self-refreshing pages take at most 1/250 of the node's time for each such question, however long the
queue is. A request made by hand always gets a fresh answer, which is cached too. Answers that contain messages report
their size, so that the cache is bounded in bytes, however many questions are asked."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import NamedTuple, TypeVar, cast

PAUSE = 250
KEPT_MAX = 200
KEPT_BYTES_MAX = 32_000_000
T = TypeVar("T")


class _Kept(NamedTuple):
    """An answer, its expiry, and its size in bytes."""

    good_until_s: float
    answer: object
    weight: int


_NOTHING = _Kept(0.0, None, 0)


class Thrift:
    """Answers by question. Belongs to one event loop."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._bytes = 0

    async def ask(
        self,
        question: Hashable,
        find_out: Callable[[], Awaitable[T]],
        *,
        is_fresh: bool,
        weigh: Callable[[T], int] = lambda answer: 0,
    ) -> T:
        """The answer; `is_fresh`: computed now, whatever is cached. `weigh` returns the bytes of an answer that is not
        small. Raises what `find_out` raises."""
        now_s = asyncio.get_running_loop().time
        begun_s = now_s()
        kept = self._kept.get(question, _NOTHING)
        if not is_fresh and begun_s < kept.good_until_s:
            return cast(T, kept.answer)
        answer = await find_out()
        ended_s = now_s()
        self._keep(question, _Kept(ended_s + PAUSE * (ended_s - begun_s), answer, weigh(answer)))
        return answer

    def _keep(self, question: Hashable, kept: _Kept) -> None:
        self._bytes += kept.weight - self._kept.pop(question, _NOTHING).weight
        self._kept[question] = kept
        while len(self._kept) > KEPT_MAX or self._bytes > KEPT_BYTES_MAX:
            self._bytes -= self._kept.popitem(last=False)[1].weight
