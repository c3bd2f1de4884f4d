"""The format of responses on the wire, exact to the byte where clients care."""

from __future__ import annotations

import hashlib
import json
from xml.etree import ElementTree

import msgspec
import pytest

from cqs.api.shapes.shape import Shape
from tests.protocol.world import FIFO, STANDARD, World, form_request, headers_of, make_world

NAMESPACE = "http://queue.amazonaws.com/doc/2012-11-05/"
TEXT = {"DataType": "String", "StringValue": "v"}
NOTHING = [
    ("AddPermission", {"Label": "l", "AWSAccountId.1": "111111111111", "ActionName.1": "SendMessage"}),
    ("TagQueue", {"Tag.1.Key": "k", "Tag.1.Value": "v"}),
    ("UntagQueue", {"TagKey.1": "k"}),
    ("SetQueueAttributes", {"Attribute.1.Name": "DelaySeconds", "Attribute.1.Value": "0"}),
    ("PurgeQueue", {}),
    ("DeleteQueue", {}),
]


async def received(world: World, **members: object) -> dict[str, object]:
    reply = await world.json("ReceiveMessage", QueueUrl=STANDARD, **members)
    (message,) = json.loads(reply.body)["Messages"]
    assert isinstance(message, dict)
    return message


async def test_xml_of_a_send() -> None:
    world = await make_world()

    reply = await world.query("SendMessage", QueueUrl=STANDARD, MessageBody="x")

    request_id = headers_of(reply)["x-amzn-requestid"]
    message_id = world.bench.witness.of("sent")[0][1]
    assert headers_of(reply)["content-type"] == "text/xml"
    root = ElementTree.fromstring(reply.body)
    assert root.tag == f"{{{NAMESPACE}}}SendMessageResponse"
    assert root.findtext("{*}SendMessageResult/{*}MD5OfMessageBody") == hashlib.md5(b"x").hexdigest()
    assert root.findtext("{*}ResponseMetadata/{*}RequestId") == request_id
    assert len(message_id) == 1
    assert root.find("{*}SendMessageResult/{*}SequenceNumber") is None


@pytest.mark.parametrize(("action", "parameters"), NOTHING, ids=lambda value: value if isinstance(value, str) else "")
async def test_action_without_an_answer_has_no_result(action: str, parameters: dict[str, str]) -> None:
    world = await make_world()

    reply = await world.query(action, QueueUrl=STANDARD, **parameters)

    root = ElementTree.fromstring(reply.body)
    assert reply.status == 200
    assert [child.tag.rpartition("}")[2] for child in root] == ["ResponseMetadata"]


async def test_action_without_an_answer_has_an_empty_json_body() -> None:
    world = await make_world()

    reply = await world.json("PurgeQueue", QueueUrl=STANDARD)

    assert (reply.status, reply.body) == (200, b"")
    assert headers_of(reply)["content-type"] == "application/x-amz-json-1.0"


@pytest.mark.parametrize("body", ['"quoted"', "a\rb\r\nc", "<&>", "]]>", "\t\n", "\U0001f600\u202e"])
async def test_body_survives_xml_to_the_character(body: str) -> None:
    world = await make_world()
    await world.bench.send(world.standard, body)

    reply = await world.query("ReceiveMessage", QueueUrl=STANDARD)

    root = ElementTree.fromstring(reply.body)
    assert root.findtext(".//{*}Body") == body
    assert root.findtext(".//{*}MD5OfBody") == hashlib.md5(body.encode()).hexdigest()


async def test_quote_and_carriage_return_are_written_as_aws_writes_them() -> None:
    world = await make_world()
    await world.bench.send(world.standard, '"\r')

    reply = await world.query("ReceiveMessage", QueueUrl=STANDARD)

    assert b"<Body>&quot;&#xD;</Body>" in reply.body


async def test_lists_and_maps_of_xml_are_flat() -> None:
    world = await make_world()
    await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="x", MessageAttributes={"a": TEXT})

    listed = await world.query("ListQueues")
    message = await world.query("ReceiveMessage", **{"QueueUrl": STANDARD, "AttributeName": "SenderId"})
    await world.query("TagQueue", **{"QueueUrl": STANDARD, "Tag.1.Key": "k", "Tag.1.Value": "v"})
    tags = await world.query("ListQueueTags", QueueUrl=STANDARD)

    urls = [element.text for element in ElementTree.fromstring(listed.body).findall("{*}ListQueuesResult/{*}QueueUrl")]
    assert urls == [STANDARD, FIFO]
    names = ElementTree.fromstring(message.body).findall("{*}ReceiveMessageResult/{*}Message/{*}Attribute/{*}Name")
    assert [name.text for name in names] == ["SenderId"]
    assert b"<ListQueueTagsResult><Tag><Key>k</Key><Value>v</Value></Tag></ListQueueTagsResult>" in tags.body


async def test_query_answers_json_to_clients_that_accept_only_that() -> None:
    world = await make_world()
    accepts = (b"Accept", b"application/json")

    good = await world.dispatcher.dispatch(form_request(b"Action=GetQueueUrl&QueueName=orders", accepts))
    bad = await world.dispatcher.dispatch(form_request(b"Action=GetQueueUrl&QueueName=nope", accepts))

    assert json.loads(good.body) == {
        "GetQueueUrlResponse": {
            "GetQueueUrlResult": {"QueueUrl": STANDARD},
            "ResponseMetadata": {"RequestId": headers_of(good)["x-amzn-requestid"]},
        }
    }
    assert json.loads(bad.body)["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"
    assert headers_of(good)["content-type"] == "application/json"


async def test_empty_receive_has_no_messages_at_all() -> None:
    world = await make_world()

    assert (await world.json("ReceiveMessage", QueueUrl=STANDARD)).body == b"{}"
    assert (
        b"<ReceiveMessageResult></ReceiveMessageResult>"
        in (await world.query("ReceiveMessage", QueueUrl=STANDARD)).body
    )


@pytest.mark.parametrize(("body", "told"), [("x", "Successful"), ("\x01", "Failed")])
async def test_empty_list_of_a_batch_is_left_out(body: str, told: str) -> None:
    world = await make_world()

    reply = await world.json("SendMessageBatch", QueueUrl=STANDARD, Entries=[{"Id": "a", "MessageBody": body}])

    members = {
        "Successful": ["Id", "MD5OfMessageBody", "MessageId"],
        "Failed": ["Code", "Id", "Message", "SenderFault"],
    }
    assert {name: sorted(*entries) for name, entries in json.loads(reply.body).items()} == {told: members[told]}


async def test_names_with_odd_capitals_are_kept() -> None:
    world = await make_world()

    sources = await world.json("ListDeadLetterSourceQueues", QueueUrl=STANDARD)
    created = await world.json("CreateQueue", QueueName="tagged", tags={"k": "v"})
    tags = await world.json("ListQueueTags", QueueUrl=json.loads(created.body)["QueueUrl"])

    assert json.loads(sources.body) == {"queueUrls": []}
    assert json.loads(tags.body) == {"Tags": {"k": "v"}}


async def test_sequence_numbers_have_twenty_digits() -> None:
    world = await make_world()

    reply = await world.json(
        "SendMessage", QueueUrl=FIFO, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="d"
    )

    assert len(json.loads(reply.body)["SequenceNumber"]) == 20


async def test_json_protocol_works_at_a_queue_url_that_the_body_leaves_out() -> None:
    world = await make_world()
    request = form_request(b"")
    headers = [(b"Host", b"h"), (b"X-Amz-Target", b"AmazonSQS.SendMessage")]
    at_queue = type(request)(b"POST", b"/000000000000/orders", headers, b'{"MessageBody":"x"}')

    reply = await world.dispatcher.dispatch(at_queue)
    elsewhere = await world.dispatcher.dispatch(msgspec.structs.replace(at_queue, target=b"/"))

    assert (reply.status, elsewhere.status) == (200, 400)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ([], []),
        (["All"], ["a", "a.b", "b"]),
        ([".*"], ["a", "a.b", "b"]),
        (["a.*"], ["a", "a.b"]),
        (["b"], ["b"]),
        (["b", "nope"], ["b"]),
        (["A"], []),
        (["nope.*"], []),
    ],
)
async def test_message_attributes_are_those_asked_for(asked: list[str], names: list[str]) -> None:
    world = await make_world()
    attributes = {"a": TEXT, "a.b": TEXT, "b": {"DataType": "Binary.x", "BinaryValue": "/w=="}}
    await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="x", MessageAttributes=attributes)

    message = await received(world, MessageAttributeNames=asked)

    wanted = {name: attributes[name] for name in names}
    assert message.get("MessageAttributes", {}) == wanted
    assert ("MD5OfMessageAttributes" in message) == bool(names)


async def test_digest_on_receive_covers_only_what_is_returned() -> None:
    world = await make_world()
    await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="x", MessageAttributes={"a": TEXT, "b": TEXT})
    await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="y", MessageAttributes={"a": TEXT})

    both = await received(world, MessageAttributeNames=["a"])
    one = await received(world, MessageAttributeNames=["All"])

    assert both["MD5OfMessageAttributes"] == one["MD5OfMessageAttributes"]


async def test_old_and_new_names_of_system_attributes_are_honoured_together() -> None:
    world = await make_world()
    await world.bench.send(world.standard, "x")

    message = await received(
        world, AttributeNames=["SentTimestamp", "VisibilityTimeout"], MessageSystemAttributeNames=["SenderId"]
    )

    assert isinstance(message["Attributes"], dict)
    assert set(message["Attributes"]) == {"SentTimestamp", "SenderId"}


async def test_all_system_attributes_are_those_the_message_has() -> None:
    world = await make_world()
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1"}}
    await world.json(
        "SendMessage", QueueUrl=STANDARD, MessageBody="x", MessageSystemAttributes=trace, MessageGroupId="tenant"
    )

    message = await received(world, MessageSystemAttributeNames=["All"])

    assert isinstance(message["Attributes"], dict)
    assert message["Attributes"] | {"SenderId": "", "SentTimestamp": "", "ApproximateFirstReceiveTimestamp": ""} == {
        "SenderId": "",
        "SentTimestamp": "",
        "ApproximateFirstReceiveTimestamp": "",
        "ApproximateReceiveCount": "1",
        "AWSTraceHeader": "Root=1",
        "MessageGroupId": "tenant",
    }


def test_shapes_hold_no_cycles_and_are_not_walked() -> None:
    """They are created for every call, so the garbage collector should not have to track them."""
    assert not Shape.__struct_config__.gc
