"""Conditional writes whose answers get lost, against a session that says what it is told to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.store.cassandra.decisions import decide
from cqs.store.cassandra.session import Decision, Session, Write

LOST, AWAY = OutcomeUnknown("lost answer"), StoreUnavailable("away")
REFUSED = Decision(False, [])


class Scripted:
    def __init__(self, *answers: Decision | Exception) -> None:
        self._answers = list(answers)

    async def decide(self, _: Sequence[Write]) -> Decision:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def run(*answers: Decision | Exception, is_ours: bool | Exception = False) -> bool:
    async def ask() -> bool:
        if isinstance(is_ours, Exception):
            raise is_ours
        return is_ours

    return (await decide(cast(Session, Scripted(*answers)), [], ask))[0]


@pytest.mark.parametrize("is_ours", [False, True])
async def test_refused_after_a_lost_answer_is_done_when_it_was_this_call(is_ours: bool) -> None:
    assert await run(LOST, REFUSED, is_ours=is_ours) is is_ours


async def test_refused_at_once_is_not_asked_about() -> None:
    assert await run(REFUSED, is_ours=AssertionError("asked")) is False


async def test_out_of_reach_at_once_is_nothing_written() -> None:
    with pytest.raises(StoreUnavailable):
        await run(AWAY)


async def test_out_of_reach_after_a_lost_answer_is_unknown() -> None:
    with pytest.raises(OutcomeUnknown):
        await run(LOST, AWAY)


async def test_an_answer_that_can_not_be_checked_is_unknown() -> None:
    with pytest.raises(OutcomeUnknown):
        await run(LOST, REFUSED, is_ours=AWAY)
