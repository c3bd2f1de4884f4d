"""Acknowledged changes of queues survive a kill: create, change, tag, purge and delete."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.crash.raw_client import RawClient, Refused
from tests.sdk.server_process import ServerProcess


async def test_changes_of_queues_hold_over_a_kill(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data")
    await asyncio.to_thread(server.start)
    try:
        async with RawClient(server.port) as client:
            await make_changes(client)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        async with RawClient(server.port) as client:
            await check_changes(client)
    finally:
        await asyncio.to_thread(server.kill)


async def make_changes(client: RawClient) -> None:
    for name in ("changed", "purged", "deleted"):
        url = (await client.call("CreateQueue", QueueName=name, tags={"team": name}))["QueueUrl"]
        await client.call("SendMessage", QueueUrl=url, MessageBody="old")
        if name == "changed":
            await client.call("SetQueueAttributes", QueueUrl=url, Attributes={"VisibilityTimeout": "77"})
            await client.call("TagQueue", QueueUrl=url, Tags={"stage": "test"})
        elif name == "purged":
            await client.call("PurgeQueue", QueueUrl=url)
            await client.call("SendMessage", QueueUrl=url, MessageBody="new")
        else:
            await client.call("DeleteQueue", QueueUrl=url)


async def check_changes(client: RawClient) -> None:
    changed = (await client.call("GetQueueUrl", QueueName="changed"))["QueueUrl"]
    told = await client.call("GetQueueAttributes", QueueUrl=changed, AttributeNames=["VisibilityTimeout"])
    assert told["Attributes"] == {"VisibilityTimeout": "77"}
    tags = await client.call("ListQueueTags", QueueUrl=changed)
    assert tags["Tags"] == {"team": "changed", "stage": "test"}
    purged = (await client.call("GetQueueUrl", QueueName="purged"))["QueueUrl"]
    received = await client.call("ReceiveMessage", QueueUrl=purged, MaxNumberOfMessages=10)
    assert [message["Body"] for message in received["Messages"]] == ["new"]
    with pytest.raises(Refused, match="PurgeQueueInProgress"):
        await client.call("PurgeQueue", QueueUrl=purged)
    with pytest.raises(Refused, match="QueueDoesNotExist"):
        await client.call("GetQueueUrl", QueueName="deleted")
    again = (await client.call("CreateQueue", QueueName="deleted"))["QueueUrl"]
    assert not (await client.call("ReceiveMessage", QueueUrl=again)).get("Messages")
