"""What is dear to find out is not asked anew at each refresh of a page: an answer is kept for PAUSE times as long as it
took, so that pages which refresh themselves take at most a 250th of the node's time for each such question, however
long the queue is. What a person asks for by hand is always fresh, and is kept, too.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar, cast

PAUSE = 250
KEPT_MAX = 200
T = TypeVar("T")


class Thrift:
    """Answers by question, and until when they are good. Belongs to one event loop."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[float, object]] = OrderedDict()

    async def ask(self, question: Hashable, find_out: Callable[[], Awaitable[T]], *, is_fresh: bool) -> T:
        """The answer; `is_fresh`: found out now, whatever is kept. Raises what `find_out` raises."""
        now_s = asyncio.get_running_loop().time
        begun_s = now_s()
        good_until_s, kept = self._kept.get(question, (0.0, None))
        if not is_fresh and begun_s < good_until_s:
            return cast(T, kept)
        answer = await find_out()
        ended_s = now_s()
        self._kept[question] = (ended_s + PAUSE * (ended_s - begun_s), answer)
        self._kept.move_to_end(question)
        if len(self._kept) > KEPT_MAX:
            self._kept.popitem(last=False)
        return answer
