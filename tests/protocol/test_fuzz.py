"""Thousands of mutated requests in both protocols: none may cause a server error, and every response is well-formed.

The seeds are one valid call of each action in each protocol. A mutation damages bytes (of target, headers or body), or
replaces JSON members or form parameters by hostile ones. Hypothesis shrinks and prints failures.
"""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cqs.api import operations
from cqs.api.request import Reply, Request
from cqs.queue import QueueName
from tests.protocol.case import Meaning
from tests.protocol.world import FIFO, STANDARD, World, make_world

EXAMPLES_MAX = 600
STATUSES = {200, 204, 400, 403, 404, 405}
ARN = "arn:aws:sqs:us-east-1:000000000000:orders"
TEXT = {"DataType": "String", "StringValue": "v"}
MEMBERS: dict[str, Any] = {
    "QueueUrl": STANDARD,
    "QueueName": "orders",
    "MessageBody": "x",
    "ReceiptHandle": "h",
    "VisibilityTimeout": 1,
    "DelaySeconds": 0,
    "MaxNumberOfMessages": 10,
    "MessageAttributes": {"a": TEXT, "b": {"DataType": "Binary", "BinaryValue": "YQ=="}},
    "MessageSystemAttributes": {"AWSTraceHeader": TEXT},
    "AttributeNames": ["All"],
    "MessageAttributeNames": ["All", "a.*"],
    "Attributes": {"VisibilityTimeout": "10", "RedrivePolicy": f'{{"deadLetterTargetArn":"{ARN}"}}'},
    "tags": {"k": "v"},
    "Tags": {"k": "v"},
    "TagKeys": ["k"],
    "Label": "l",
    "AWSAccountIds": ["111111111111"],
    "Actions": ["SendMessage"],
    "SourceArn": ARN,
    "TaskHandle": "t",
    "Entries": [{"Id": "a", "MessageBody": "x", "ReceiptHandle": "h", "VisibilityTimeout": 1}],
}
HOSTILE: list[Any] = [
    None, True, 0, -1, 5.5, 2**31, 2**63, 10**400, 1e300, "", " ", "\0", "\ufffe", "\u202e", "\U0001f600", "'\"<&>]]>",
    "a" * 300, "../..", "%00", "All", ".*", "true", "-1", "1e400", FIFO, ARN, "http://[", "{}", "[" * 200, [], [[]],
    [None], {}, {"a": {}}, {"": ""}, {"DataType": "Number", "StringValue": "1e9999999999"}, [{"Id": "a"}] * 11,
]  # fmt: skip
INSERTED = [
    b"\0",
    b"\xff",
    b"\r\n",
    b"%",
    b"&",
    b"=",
    b".",
    b"..",
    b'"',
    b"\\u0000",
    b"[" * 500,
    b"{",
    b"9" * 400,
    b"-",
    b"e9",
]


def good(operation: operations.Operation) -> Meaning:
    fields = [field.encode_name for field in msgspec.structs.fields(operation.input)]
    return Meaning(operation.name, operation.name, {name: MEMBERS[name] for name in fields if name in MEMBERS})


GOOD = [good(operation) for operation in operations.ALL]


@st.composite
def changed_members(draw: st.DrawFn, members: dict[str, Any]) -> dict[str, Any]:
    changed = dict(members)
    for name in draw(st.lists(st.sampled_from([*members, "Extra"]), max_size=3)):
        changed[name] = draw(st.sampled_from(HOSTILE))
    if len(members) > 0 and draw(st.booleans()):
        changed.pop(draw(st.sampled_from(list(members))))
    return changed


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 20)))
        data = data[:at] + draw(st.sampled_from(INSERTED) | st.binary(max_size=8)) + data[end:]
    return data


@st.composite
def requests(draw: st.DrawFn) -> Request:
    case = draw(st.sampled_from(GOOD))
    case = case._replace(members=draw(changed_members(case.members)))
    request: Request = case.as_json() if draw(st.booleans()) else case.as_form()
    if draw(st.booleans()):
        request = msgspec.structs.replace(request, body=draw(damaged(request.body)))
    if draw(st.integers(0, 5)) == 0:
        headers = [(name, draw(damaged(value))) for name, value in request.headers]
        request = msgspec.structs.replace(request, headers=headers, target=draw(damaged(request.target)))
    if draw(st.integers(0, 9)) == 0:
        method, more = draw(st.sampled_from([b"GET", b"OPTIONS", b"HEAD", b"x"])), request.body[:2_000]
        return Request(method, b"/?" + more, request.headers, request.body)
    return request


async def asked(world: World, request: Request) -> Reply:
    """Returns the response of a world that has its queues, whatever was deleted before."""
    for name in ("orders", "orders.fifo"):
        if world.bench.engine.registry.get(QueueName("000000000000", name)) is None:
            await world.bench.create(name)
    return await world.dispatcher.dispatch(request)


def check(reply: Reply) -> None:
    """Fails if the response is a server error, or not readable by clients."""
    assert reply.status in STATUSES, reply
    headers = {name.lower(): value for name, value in reply.headers}
    assert headers[b"x-amzn-requestid"]
    content_type = headers.get(b"content-type", b"")
    if b"json" in content_type:
        assert not reply.body or isinstance(json.loads(reply.body), dict)
    elif content_type == b"text/xml":
        ElementTree.fromstring(reply.body)
    else:
        assert reply.status == 204


@pytest.fixture(scope="module")
def runner() -> Any:
    with asyncio.Runner() as held:
        yield held


@pytest.fixture(scope="module")
def world(runner: asyncio.Runner) -> World:
    return runner.run(make_world())


@settings(
    max_examples=EXAMPLES_MAX, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(request=requests())
def test_no_mutated_request_is_ever_our_fault(runner: asyncio.Runner, world: World, request: Request) -> None:
    check(runner.run(asked(world, request)))


def test_no_random_bytes_are_ever_our_fault(runner: asyncio.Runner, world: World) -> None:
    """More of the same, as fast as possible, without Hypothesis."""
    rng = random.Random(2026)
    seeds = [request for case in GOOD for request in (case.as_json(), case.as_form())]
    for _ in range(6_000):
        request = rng.choice(seeds)
        body = bytearray(request.body)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(body) + 1)
            body[at : at + rng.choice((0, 0, 1, 1, 9))] = (
                rng.choice(INSERTED) if rng.random() < 0.3 else rng.randbytes(1)
            )
        check(runner.run(asked(world, msgspec.structs.replace(request, body=bytes(body)))))


def test_the_seeds_themselves_are_good(runner: asyncio.Runner) -> None:
    """Otherwise fuzzing would only reach the decoder."""
    fresh = runner.run(make_world())
    understood = 0
    for case in GOOD:
        for request in (case.as_json(), case.as_form()):
            reply = runner.run(fresh.dispatcher.dispatch(request))
            check(reply)
            understood += b"SerializationException" not in reply.body and b"MissingParameter" not in reply.body
    assert understood == 2 * len(GOOD)
