"""Server errors: the response is a 503 with a request id; the traceback is logged once and not sent to the client."""

from __future__ import annotations

import logging
import random

import msgspec
import pytest
import structlog
from structlog.testing import capture_logs

from cqs.api.access import OpenAccess
from cqs.api.dispatch import Dispatcher
from cqs.api.failure_log import LINES_A_SECOND
from cqs.api.origins import Origins
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.errors import OutcomeUnknown, StoreUnavailable
from tests.protocol.world import STANDARD, code_of, headers_of, json_request, make_world, text_of

FAILURES = [
    StoreUnavailable("/secret/path is full"),
    OutcomeUnknown("/secret/path timed out"),
    RuntimeError("/secret/path: a bug"),
    KeyError("/secret/path"),
    RecursionError("/secret/path"),
]


@pytest.mark.parametrize("protocol", ["json", "query"])
@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
async def test_our_failure_is_a_503_that_tells_nothing(failure: Exception, protocol: str) -> None:
    world = await make_world()
    world.bench.store.fail("append", failure)
    call = world.json if protocol == "json" else world.query

    with capture_logs() as logs:
        reply = await call("SendMessage", QueueUrl=STANDARD, MessageBody="x")

    headers = headers_of(reply)
    assert (reply.status, code_of(headers, reply.body)) == (503, "ServiceUnavailable")
    assert b"/secret/path" not in reply.body
    assert "Try again" in text_of(reply.body)
    (line,) = [log for log in logs if log["event"] == "request_failed"]
    assert (line["log_level"], line["request_id"], line["action"]) == (
        "error",
        headers["x-amzn-requestid"],
        "SendMessage",
    )
    assert line["exc_info"] is failure


async def test_failures_of_one_kind_are_logged_a_few_times_a_second_and_counted() -> None:
    world = await make_world()
    world.bench.store.fail("append", StoreUnavailable("full"), times=LINES_A_SECOND + 6)
    logs: list[dict[str, object]] = []
    for calls in (LINES_A_SECOND + 5, 1):
        with capture_logs() as lines:
            for _ in range(calls):
                await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="x")
        logs += [dict(line) for line in lines if line["event"] == "request_failed"]
        world.bench.clock.advance_ms(1_000)

    assert len(logs) == LINES_A_SECOND + 1
    assert [line.get("untold") for line in logs] == [None] * LINES_A_SECOND + [5]


async def test_call_after_a_failure_is_served() -> None:
    world = await make_world()
    world.bench.store.fail("append", StoreUnavailable("full"))
    with capture_logs():
        failed = await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="x")

    again = await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="x")

    assert (failed.status, again.status) == (503, 200)


async def test_server_fault_is_said_in_the_protocols_words() -> None:
    world = await make_world()
    world.bench.store.fail("append", StoreUnavailable("full"), times=2)
    with capture_logs():
        as_json = await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="x")
        as_xml = await world.query("SendMessage", QueueUrl=STANDARD, MessageBody="x")

    assert headers_of(as_json)["x-amzn-query-error"] == "ServiceUnavailable;Receiver"
    assert b"<Type>Receiver</Type>" in as_xml.body


@pytest.mark.parametrize("is_logging", [True, False])
async def test_requests_are_logged_when_asked_and_never_their_contents(is_logging: bool) -> None:
    world = await make_world()
    dispatcher = Dispatcher(
        world.bench.engine,
        OpenAccess(),
        RequestIds(random.Random(1)),
        origins=Origins(),
        base_urls=BaseUrls(),
        is_logging_requests=is_logging,
    )
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG))
    try:
        with capture_logs() as logs:
            world = type(world)(world.bench, dispatcher, world.standard, world.fifo)
            reply = await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="a secret")
    finally:
        structlog.reset_defaults()

    lines = [log for log in logs if log["event"] == "request"]
    assert len(lines) == is_logging
    assert "a secret" not in str(logs)
    for line in lines:
        assert line == {
            "event": "request",
            "log_level": "debug",
            "request_id": headers_of(reply)["x-amzn-requestid"],
            "action": "SendMessage",
            "account": "000000000000",
            "peer": "",
            "status": 200,
        }


async def test_statuses_collapse_for_json_clients_that_do_not_know_query_mode() -> None:
    world = await make_world()
    request = json_request("ListMessageMoveTasks", b'{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:nope"}')
    plain = [header for header in request.headers if header[0] != b"x-amzn-query-mode"]

    reply = await world.dispatcher.dispatch(request)
    collapsed = await world.dispatcher.dispatch(msgspec.structs.replace(request, headers=plain))

    assert (reply.status, collapsed.status) == (404, 400)
    assert reply.body == collapsed.body
