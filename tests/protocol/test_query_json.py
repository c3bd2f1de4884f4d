"""AWS's JSON dialect of the Query protocol, for plain HTTP clients such as axios that accept JSON."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from tests.protocol.world import STANDARD, World, form_request, make_world

ACCEPTS = (b"Accept", b"application/json, text/plain, */*")


async def answered(world: World, action: str, **parameters: str) -> dict[str, Any]:
    """Returns the content of the response, without the request id."""
    reply = await world.dispatcher.dispatch(
        form_request(urlencode({"Action": action, "QueueUrl": STANDARD} | parameters).encode(), ACCEPTS)
    )
    (name, response), *others = json.loads(reply.body).items()
    assert (name, others) == (f"{action}Response", [])
    assert response.pop("ResponseMetadata")["RequestId"]
    return dict(response)


async def test_members_that_are_not_there_are_null() -> None:
    world = await make_world()

    sent = (await answered(world, "SendMessage", MessageBody="x"))["SendMessageResult"]

    assert sent.pop("MessageId")
    assert sent == {
        "MD5OfMessageBody": "9dd4e461268c8034f5c8564e155c67a6",
        "MD5OfMessageAttributes": None,
        "MD5OfMessageSystemAttributes": None,
        "SequenceNumber": None,
    }


async def test_messages_begin_in_lower_case_and_their_maps_are_lists() -> None:
    world = await make_world()
    given = {"MessageAttribute.1.Name": "a", "MessageAttribute.1.Value.DataType": "Binary.x"}
    await answered(world, "SendMessage", MessageBody="x", **given, **{"MessageAttribute.1.Value.BinaryValue": "YQ=="})

    received = await answered(
        world, "ReceiveMessage", AttributeName="ApproximateReceiveCount", MessageAttributeName="All"
    )

    (message,) = received["ReceiveMessageResult"]["messages"]
    assert message["Body"] == "x"
    assert message["Attributes"] == [{"Name": "ApproximateReceiveCount", "Value": "1"}]
    value = {"DataType": "Binary.x", "BinaryValue": "YQ==", "StringValue": None}
    assert message["MessageAttributes"] == [
        {"Name": "a", "Value": value | {"StringListValues": None, "BinaryListValues": None}}
    ]


async def test_nothing_is_null_not_an_empty_list() -> None:
    world = await make_world()

    assert await answered(world, "ReceiveMessage") == {"ReceiveMessageResult": {"messages": None}}
    assert await answered(world, "ListQueues", QueueNamePrefix="nope") == {
        "ListQueuesResult": {"queueUrls": None, "NextToken": None}
    }
    assert await answered(world, "GetQueueAttributes") == {"GetQueueAttributesResult": {"Attributes": None}}


async def test_action_without_an_answer_has_no_result() -> None:
    assert await answered(await make_world(), "PurgeQueue") == {}


async def test_attributes_and_tags_are_pairs() -> None:
    world = await make_world()
    await answered(world, "TagQueue", **{"Tag.1.Key": "k", "Tag.1.Value": ""})

    attributes = await answered(world, "GetQueueAttributes", AttributeName="DelaySeconds")
    tags = await answered(world, "ListQueueTags")

    assert attributes == {"GetQueueAttributesResult": {"Attributes": [{"Name": "DelaySeconds", "Value": "0"}]}}
    assert tags == {"ListQueueTagsResult": {"Tags": [{"Key": "k", "Value": ""}]}}


async def test_batch_tells_what_failed_and_what_did_not() -> None:
    world = await make_world()
    entries = {"SendMessageBatchRequestEntry.1.Id": "a", "SendMessageBatchRequestEntry.1.MessageBody": "x"}

    good = (await answered(world, "SendMessageBatch", **entries))["SendMessageBatchResult"]
    bad = await answered(world, "SendMessageBatch", **entries, **{"SendMessageBatchRequestEntry.1.DelaySeconds": "901"})

    assert ([entry["Id"] for entry in good["Successful"]], good["Failed"]) == (["a"], None)
    assert bad["SendMessageBatchResult"]["Successful"] is None
    assert bad["SendMessageBatchResult"]["Failed"][0]["SenderFault"] is True
