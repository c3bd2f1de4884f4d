"""A coroutine that is run eagerly behaves as in its own task; since Python 3.12 it has one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from cqs.api.http.drive import Run, run_at_once


async def later(word: str) -> str:
    await asyncio.sleep(0)
    return word


def drive(coroutine: Coroutine[object, None, None]) -> Run:
    return run_at_once(coroutine, asyncio.get_running_loop())


async def test_what_never_waits_is_done_at_once() -> None:
    done: list[int] = []

    async def work() -> None:
        done.append(1)

    drive(work())

    assert done == [1]


async def test_results_errors_and_sleeps_arrive_as_in_a_task() -> None:
    loop = asyncio.get_running_loop()
    heard: list[object] = []
    first, second = loop.create_future(), loop.create_future()

    async def work() -> None:
        heard.append(await first)
        try:
            await second
        except ValueError as error:
            heard.append(str(error))
        await asyncio.sleep(0)
        heard.append(await asyncio.wait_for(asyncio.gather(later("a"), later("b")), 60))

    drive(work())
    first.set_result("one")
    await asyncio.sleep(0)
    second.set_exception(ValueError("two"))
    async with asyncio.timeout(60):
        while len(heard) < 3:  # noqa: ASYNC110
            await asyncio.sleep(0)

    assert heard == ["one", "two", ["a", "b"]]


async def test_cancelling_reaches_what_is_awaited_and_runs_the_clean_up() -> None:
    awaited = asyncio.get_running_loop().create_future()
    cleaned: list[bool] = []

    async def work() -> None:
        try:
            await awaited
        finally:
            cleaned.append(True)

    driven = drive(work())
    driven.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert awaited.cancelled()
    assert cleaned == [True]


async def test_an_unexpected_error_reaches_the_loops_handler() -> None:
    loop = asyncio.get_running_loop()
    told: list[object] = []
    loop.set_exception_handler(lambda _, context: told.append(context["exception"]))

    async def work() -> None:
        raise LookupError("bug")

    drive(work())

    assert [type(error) for error in told] == [LookupError]


async def test_many_runs_at_once_do_not_mix() -> None:
    results: list[int] = []

    async def work(number: int) -> None:
        await asyncio.sleep(0)
        results.append(number)

    for number in range(3):
        drive(work(number))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert sorted(results) == [0, 1, 2]
