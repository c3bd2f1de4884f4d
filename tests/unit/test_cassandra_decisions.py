"""Conditional writes whose responses are lost, with a scripted session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import cast

import pytest
from cassandra import Unavailable

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.decisions import decide
from cqs.store.cassandra.session import Decision, Session, Write
from cqs.store.cassandra.statements import Statement

LOST, AWAY = OutcomeUnknown("lost answer"), StoreUnavailable("away")
DONE, REFUSED = Decision(True, []), Decision(False, [])


class Scripted:
    """`asked`: for each decision, whether it was limited to this data centre."""

    def __init__(self, *answers: Decision | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[bool] = []
        self.may_decide_alone = True

    async def decide(self, _: Sequence[Write], *, is_here: bool = False) -> Decision:
        self.asked.append(is_here)
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


def too_few() -> StoreUnavailable:
    error = StoreUnavailable("too few replicas")
    error.__cause__ = Unavailable("")
    return error


async def decided_of(statement: Statement, *answers: Decision | Exception, may_alone: bool = True) -> list[bool]:
    session = Scripted(*answers)
    session.may_decide_alone = may_alone

    async def ask() -> bool:
        return False

    with suppress(StoreUnavailable):
        await decide(cast(Session, session), [Write(statement, ())], ask)
    return session.asked


@pytest.mark.parametrize("statement", [cql.CREATE_QUEUE, cql.SAVE_QUEUE, cql.DROP_QUEUE])
async def test_what_a_queue_is_this_data_centre_decides_alone_when_too_few_replicas_live(statement: Statement) -> None:
    assert await decided_of(statement, too_few(), DONE) == [False, True]
    assert await decided_of(statement, DONE) == [False]
    assert await decided_of(statement, AWAY) == [False]
    assert await decided_of(statement, too_few(), too_few()) == [False, True]


async def test_where_every_data_centre_must_decide_nothing_is_asked_again_in_the_same_way() -> None:
    assert await decided_of(cql.CREATE_QUEUE, too_few(), may_alone=False) == [False]


async def test_all_else_is_decided_once() -> None:
    assert await decided_of(cql.RENEW_LEAD, too_few()) == [False]
