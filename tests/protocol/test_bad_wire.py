"""Malformed requests get their documented error and change nothing."""

from __future__ import annotations

import pytest

from tests.protocol import corpus_form, corpus_json
from tests.protocol.case import Case, by_name
from tests.protocol.world import code_of, headers_of, make_world, text_of, wire_of


@pytest.mark.parametrize("case", by_name([*corpus_json.CASES, *corpus_form.CASES]))
async def test_request_gets_its_documented_answer(case: Case) -> None:
    world = await make_world()
    before = world.state()

    reply = await world.dispatcher.dispatch(case.request)

    headers = headers_of(reply)
    assert (reply.status, code_of(headers, reply.body)) == (case.status, case.code), reply.body
    assert headers["x-amzn-requestid"]
    if case.code and case.code != corpus_form.UNKNOWN:
        assert case.text in text_of(reply.body)
    if case.code:
        assert world.state() == before


async def test_socket_gives_the_same_answers() -> None:
    world = await make_world()
    async with world.listening() as door:
        for case in (*corpus_json.CASES, *corpus_form.CASES):
            if any(b"\xff" in value for _, value in case.request.headers):
                continue

            answer = await door.exchange(wire_of(case.request))

            assert (answer.status, answer.code) == (case.status, case.code), case.name
            assert answer.headers["server"] == "cqs"
