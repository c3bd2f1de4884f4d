"""The server is killed with SIGKILL at random times under load and restarted on the same data. Every message is
accounted for: acknowledged messages are eventually received with the right checksum, deleted ones never reappear, and
receive counts, FIFO order and deduplication windows hold. CRASH_SEED repeats a run's random choices."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cqs.store.sqlite.schema import FILE_NAME
from tests.crash.ledger import REPEAT_S_MAX, Ledger
from tests.crash.load import Load
from tests.crash.raw_client import RawClient
from tests.integration.process import until
from tests.sdk.server_process import ServerProcess

ROUNDS = 7
ROUND_S_MIN, ROUND_S_MAX = 0.3, 4.0
DRAIN_S_MAX = 120.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path / "data")
    server.start()
    yield server
    server.kill()


async def create(port: int, name: str, **attributes: str) -> str:
    async with RawClient(port) as client:
        return str((await client.call("CreateQueue", QueueName=name, Attributes=attributes))["QueueUrl"])


async def load_until_killed(server: ServerProcess, loads: list[Load], after_s: float) -> None:
    """Runs the load, kills the server, and waits until every client has lost its connection."""
    fifo_groups = [["a", "b", "c"], ["d", "e", "f"]]
    for load in loads:
        load.is_killed = False
    async with asyncio.TaskGroup() as tasks:
        for load in loads:
            for groups in fifo_groups:
                tasks.create_task(load.send(server.port, groups))
            for _ in range(3):
                tasks.create_task(load.receive(server.port))
        await asyncio.sleep(after_s)
        server.shoot()
        for load in loads:
            load.ledger.kills_s.append(time.monotonic())
            load.is_killed = True
        await asyncio.to_thread(server.kill)


@pytest.mark.timeout(400)
async def test_nothing_acknowledged_is_lost_and_nothing_deleted_returns(server: ServerProcess) -> None:
    seed = int(os.environ.get("CRASH_SEED") or random.SystemRandom().randrange(10**9))
    print(f"seed {seed}")
    rng = random.Random(seed)
    standard = Load(Ledger("standard", False), await create(server.port, "standard"), rng)
    fifo = Load(Ledger("fifo", True), await create(server.port, "fifo.fifo", FifoQueue="true"), rng)
    loads = [standard, fifo]
    for _ in range(ROUNDS):
        await load_until_killed(server, loads, rng.uniform(ROUND_S_MIN, ROUND_S_MAX))
        await asyncio.to_thread(server.start)
        await fifo.repeat_sends(server.port)
    await asyncio.gather(*(load.drain(server.port, DRAIN_S_MAX) for load in loads for _ in range(3)))
    for load in loads:
        print(summary(load.ledger))
    for load in loads:
        assert load.ledger.violations == []
        assert load.ledger.lost() == []
        assert sum(entry.is_acknowledged for entry in load.ledger.entries.values()) > 100
        assert sum(entry.deleted_s is not None for entry in load.ledger.entries.values()) > 100


def summary(ledger: Ledger) -> str:
    entries = ledger.entries.values()
    in_time = sum(before_s <= REPEAT_S_MAX for before_s in ledger.repeats_s)
    return (
        f"{ledger.name}: kills {len(ledger.kills_s)} acknowledged {sum(e.is_acknowledged for e in entries)} "
        f"deleted {sum(e.deleted_s is not None for e in entries)} lost {len(ledger.lost())} "
        f"violations {len(ledger.violations)} repeated {len(ledger.repeats_s)} "
        f"({in_time} received within {REPEAT_S_MAX * 1000:.0f} ms before a kill, "
        f"earliest {max(ledger.repeats_s, default=0) * 1000:.0f} ms)"
    )


def leases_in(file: Path) -> int:
    """Returns of how many received messages the database knows; a standard receive does not wait for that."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return int(database.execute("SELECT count(*) FROM leases").fetchone()[0])


@pytest.mark.parametrize("name", ["standard", "fifo.fifo"])
async def test_messages_in_flight_stay_hidden_until_their_own_time(
    server: ServerProcess, tmp_path: Path, name: str
) -> None:
    is_fifo = name.endswith(".fifo")
    url = await create(server.port, name, **({"FifoQueue": "true"} if is_fifo else {}))
    hidden_s, ids, started_s = (600, 6), [], time.monotonic()
    async with RawClient(server.port) as client:
        for seconds in hidden_s:
            fifo = {"MessageGroupId": f"g{seconds}", "MessageDeduplicationId": f"d{seconds}"} if is_fifo else {}
            ids.append((await client.call("SendMessage", QueueUrl=url, MessageBody="held", **fifo))["MessageId"])
            received = await client.call("ReceiveMessage", QueueUrl=url, VisibilityTimeout=seconds)
            assert [message["MessageId"] for message in received["Messages"]] == ids[-1:]
        await asyncio.to_thread(until, lambda: leases_in(tmp_path / "data" / FILE_NAME) == len(ids))
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    async with RawClient(server.port) as client:
        again = await client.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=20,
                                  AttributeNames=["ApproximateReceiveCount"])  # fmt: skip
    assert time.monotonic() - started_s >= hidden_s[1] - 0.05
    (message,) = again["Messages"]
    assert (message["MessageId"], message["Attributes"]["ApproximateReceiveCount"]) == (ids[1], "2")


async def test_changed_visibility_and_delays_hold_over_a_kill(server: ServerProcess) -> None:
    url = await create(server.port, "queue")
    async with RawClient(server.port) as client:
        await client.call("SendMessage", QueueUrl=url, MessageBody="extended")
        received = await client.call("ReceiveMessage", QueueUrl=url, VisibilityTimeout=1)
        handle = received["Messages"][0]["ReceiptHandle"]
        await client.call("ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=600)
        await client.call("SendMessage", QueueUrl=url, MessageBody="delayed", DelaySeconds=600)
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    async with RawClient(server.port) as client:
        assert not (await client.call("ReceiveMessage", QueueUrl=url, WaitTimeSeconds=2)).get("Messages")
        told = await client.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])
        assert told["Attributes"]["ApproximateNumberOfMessagesNotVisible"] == "1"
        assert told["Attributes"]["ApproximateNumberOfMessagesDelayed"] == "1"
        await client.call("DeleteMessage", QueueUrl=url, ReceiptHandle=handle)
        told = await client.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])
        assert told["Attributes"]["ApproximateNumberOfMessagesNotVisible"] == "0"
