"""The pages' cache of expensive results is bounded in number and in bytes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence

from admin.thrift import KEPT_BYTES_MAX, KEPT_MAX, Thrift


class Answer:
    """A result with a weight, of which a test can see that it was freed."""

    def __init__(self, weight: int) -> None:
        self.weight = weight


async def kept_of(questions: Sequence[tuple[str, int]]) -> int:
    """Returns how many results with these weights are still cached after all queries."""
    thrift, alive = Thrift(), []
    for question, weight in questions:

        async def find_out(weight: int = weight) -> Answer:
            return Answer(weight)

        answer = await thrift.ask(question, find_out, is_fresh=True, weigh=lambda found: found.weight)
        alive.append(weakref.ref(answer))
        del answer
    gc.collect()
    return sum(one() is not None for one in alive)


async def test_small_answers_are_bounded_in_number() -> None:
    assert await kept_of([(str(number), 0) for number in range(KEPT_MAX + 50)]) == KEPT_MAX


async def test_large_answers_are_bounded_in_bytes() -> None:
    assert await kept_of([(str(number), KEPT_BYTES_MAX // 4) for number in range(20)]) == 4


async def test_an_answer_that_is_larger_than_all_may_be_is_not_kept() -> None:
    assert await kept_of([("a", 1), ("b", KEPT_BYTES_MAX + 1)]) == 0


async def test_an_answer_that_is_found_out_anew_weighs_once() -> None:
    quarter = KEPT_BYTES_MAX // 4

    assert await kept_of([*[("same", quarter)] * 20, ("b", quarter), ("c", quarter), ("d", quarter)]) == 4
