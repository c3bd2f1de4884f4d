"""The extension actions in general: when they are available, and the smaller ones."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest

from cqs.api.extensions import EXTENDED, EXTENSIONS
from cqs.api.operations import ALL, BY_TARGET
from cqs.errors import CacheUnavailable, StoreUnavailable
from cqs.service.homes import BELIEVED_MS
from cqs.service.policy_actions import ALL as PERMISSIONS
from cqs.service.statistics import Sampler
from cqs.store.report import StoreHost, StoreReport
from cqs.witnesses import Witnesses
from tests.datacenters import two, unserved
from tests.engine import Bench, make_bench
from tests.protocol.extension_world import refused, told, world_with
from tests.protocol.world import STANDARD, headers_of, json_request, make_world, read_answer, wire_of
from tests.unit.sources import ROOT

OWN = [operation.name for operation in EXTENSIONS if operation.name != "ListQueues"]


async def measured() -> Bench:
    """A bench with metrics."""
    bench = await make_bench()
    witness = Witnesses(bench.witness, bench.engine.metrics.witness)
    return replace(bench, engine=replace(bench.engine, witness=witness))


def test_every_extension_has_a_permission() -> None:
    assert set(OWN) <= PERMISSIONS


def test_nothing_of_aws_is_replaced_but_the_listing() -> None:
    changed = [target for target, operation in BY_TARGET.items() if EXTENDED[target] is not operation]

    assert changed == [b"AmazonSQS.ListQueues"]


def test_every_member_is_described() -> None:
    page = (ROOT / "docs" / "extensions.md").read_text()
    known = {operation.name: operation for operation in ALL}
    members = {
        field.encode_name
        for operation in EXTENSIONS
        for shape in (operation.input, operation.output)
        if shape is not None and operation.name not in known
        for field in msgspec.structs.fields(shape)
    }

    assert [name for name in sorted(members | set(OWN)) if name not in page] == []


@pytest.mark.parametrize("action", OWN)
async def test_strict_server_knows_no_extension(action: str) -> None:
    world = await make_world(is_strict=True)

    reply = await world.json(action, QueueUrl=STANDARD, MessageId="x")

    assert headers_of(reply)["x-amzn-query-error"] == "UnknownOperationException;Sender"


async def test_strict_server_lists_all_queues_whatever_else_is_said() -> None:
    world = await make_world(is_strict=True)

    answer = await told(world, "ListQueues", ContainingMessagesOnly=True)

    assert len(answer["QueueUrls"]) == 2


@pytest.mark.parametrize("action", OWN)
async def test_query_protocol_knows_no_extension(action: str) -> None:
    world = await make_world()

    assert (await world.query(action, QueueUrl=STANDARD)).status == 400


async def test_extension_answers_over_a_real_socket() -> None:
    world = await world_with("one")
    body = json.dumps({"QueueUrl": STANDARD}).encode()
    async with world.listening() as door:
        reader, writer = await door.connect()
        writer.write(wire_of(json_request("PeekMessages", body)).replace(b"Connection: close\r\n", b""))
        answer = await read_answer(reader)
        writer.close()

    assert answer.status == 200
    assert [message["Body"] for message in json.loads(answer.body)["Messages"]] == ["one"]


async def test_listing_of_queues_that_hold_messages_has_pages() -> None:
    world = await make_world()
    for number in range(6):
        queue = await world.bench.create(f"q{number}")
        if number % 2:
            await world.bench.send(queue, "x")

    first = await told(world, "ListQueues", ContainingMessagesOnly=True, MaxResults=2)
    second = await told(world, "ListQueues", ContainingMessagesOnly=True, MaxResults=2, NextToken=first["NextToken"])

    urls = first["QueueUrls"] + second["QueueUrls"]
    assert [url.rpartition("/")[2] for url in urls] == ["q1", "q3", "q5"]
    assert "NextToken" not in second


async def test_queue_with_messages_in_flight_or_delayed_holds_messages() -> None:
    world = await world_with("one")
    await world.bench.receive(world.standard)
    await world.bench.send(await world.bench.create("later", delay_ms=5_000), "x")

    answer = await told(world, "ListQueues", ContainingMessagesOnly=True)

    assert [url.rpartition("/")[2] for url in answer["QueueUrls"]] == ["later", "orders"]


async def test_listing_without_the_member_is_that_of_aws() -> None:
    world = await make_world()

    assert len((await told(world, "ListQueues"))["QueueUrls"]) == 2


async def test_healthy_server_says_so() -> None:
    world = await make_world()

    assert (await told(world, "HealthCheck"))["Status"] == "ok"


async def test_sick_server_names_the_part_that_does_not_answer() -> None:
    world = await make_world()
    world.bench.store.fail("highest_address", StoreUnavailable("disk full"))
    world.bench.cache.fail("next_vesting_ms", CacheUnavailable("no route"))

    assert await refused(world, "HealthCheck") == ("ServiceUnavailable", "The store does not answer: disk full")
    assert await refused(world, "HealthCheck") == ("ServiceUnavailable", "The cache does not answer: no route")


async def test_statistics_of_the_node_count_calls_and_messages() -> None:
    bench = await measured()
    world = await make_world(bench=bench)
    for _ in range(3):
        await told(world, "SendMessage", MessageBody="x")
    await told(world, "ReceiveMessage")
    await refused(world, "SendMessage", MessageBody="")
    await Sampler(bench.engine).sample()

    answer = await told(world, "GetNodeStatistics", QueueUrl="", ChartRange="5m")

    totals, chart = answer["Totals"], answer["Chart"]
    assert (totals["Sent"], totals["Received"], totals["Visible"], totals["InFlight"]) == (3, 1, 2, 1)
    assert answer["Actions"]["SendMessage"]["Calls"] == 4
    assert answer["Actions"]["SendMessage"]["Failures"] == {"MissingParameter": 1}
    assert answer["Queues"] == 2
    last = dict(zip(chart["Fields"], chart["Points"][-1], strict=True))
    assert (last["sent"], last["calls"], last["errors"], last["visible"]) == (3, 5, 1, 2)
    assert len(chart["Points"]) == 60


async def test_statistics_of_a_queue_are_its_own() -> None:
    bench = await measured()
    world = await make_world(bench=bench)
    other = await bench.create("other")
    await bench.send(other, "x")
    await bench.send(world.standard, "y", "z")
    await Sampler(bench.engine).sample()

    answer = await told(world, "GetNodeStatistics", ChartRange="1h")

    assert (answer["Totals"]["Sent"], answer["Totals"]["Visible"]) == (2, 2)
    assert "Actions" not in answer
    assert answer["Chart"]["Period"] == 60
    assert answer["Chart"]["Points"][-1][answer["Chart"]["Fields"].index("sent")] == 2


async def test_statistics_tell_where_the_data_lie() -> None:
    world = await make_world()
    near = StoreHost(address="10.0.0.1", datacenter="dc1", rack="r1", version="5.0.6", is_up=False)
    far = StoreHost(address="10.0.1.1", datacenter="dc2", rack="r2", version="5.0.6")
    world.bench.engine.metrics.store_report = lambda: StoreReport(hosts=(near, far))

    of_node = await told(world, "GetNodeStatistics", QueueUrl="")
    of_queue = await told(world, "GetNodeStatistics")

    assert of_node["Store"]["Hosts"] == [
        {"Address": "10.0.0.1", "DataCenter": "dc1", "Rack": "r1", "Version": "5.0.6", "Up": False},
        {"Address": "10.0.1.1", "DataCenter": "dc2", "Rack": "r2", "Version": "5.0.6", "Up": None},
    ]
    assert "Store" not in of_queue


async def test_statistics_name_the_data_centre_that_serves_a_queue() -> None:
    town, a, b, _ = await unserved()
    here, there = await make_world(bench=a), await make_world(bench=b)
    nobodys = await told(here, "GetNodeStatistics")
    await a.send(here.standard, "x")
    await a.engine.background.drain()
    since_ms = town.clock.now_ms()
    town.clock.advance_ms(BELIEVED_MS)

    of_node, of_queue = await told(there, "GetNodeStatistics", QueueUrl=""), await told(there, "GetNodeStatistics")
    alone = await told(await make_world(), "GetNodeStatistics")

    assert (nobodys["DataCenter"], nobodys["Home"]) == ("dc1", {})
    assert (of_queue["DataCenter"], of_queue["Home"]) == ("dc2", {"DataCenter": "dc1", "Since": since_ms})
    assert (of_node["DataCenter"], "Home" in of_node) == ("dc2", False)
    assert {"DataCenter", "Home"} & set(alone) == set()


async def test_statistics_of_a_queue_whose_home_cannot_be_read_leave_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    town, a, _, _ = await two("other")
    world = await make_world(bench=a)

    async def away(*_: object) -> None:
        raise StoreUnavailable("no quorum")

    monkeypatch.setattr(a.engine.cluster.coordination, "home", away)
    town.clock.advance_ms(BELIEVED_MS)

    assert "Home" not in await told(world, "GetNodeStatistics")


async def test_queue_that_nothing_happened_to_has_empty_statistics() -> None:
    world = await make_world()

    answer = await told(world, "GetNodeStatistics", ChartRange="10m")

    assert answer["Totals"]["Sent"] == 0
    assert all(value is None for point in answer["Chart"]["Points"] for value in point)


async def test_unknown_range_is_refused_with_those_that_are_known() -> None:
    world = await make_world()

    code, text = await refused(world, "GetNodeStatistics", ChartRange="2 weeks")

    assert code == "InvalidParameterValue"
    assert "5m, 10m, 1h, 6h, 1d, 7d" in text


async def test_extension_answers_carry_no_empty_members_but_those_promised() -> None:
    world = await make_world()

    reply = await world.json("PeekMessages", QueueUrl=STANDARD)

    assert msgspec.json.decode(reply.body) == {"Messages": [], "Scanned": 0}
