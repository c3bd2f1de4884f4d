"""`cqs_requests_total` counts calls by action and code, including those that could not be parsed."""

from __future__ import annotations

from tests.protocol.measured import measured


async def test_failures_are_counted_by_code() -> None:
    async with measured() as node:
        await node.world.json("SendMessage", QueueUrl="http://a/000000000000/none", MessageBody="x")
        await node.world.json("NoSuchAction")

        told = await node.scrape()

    assert told['cqs_requests_total{action="SendMessage",code="AWS.SimpleQueueService.NonExistentQueue"}'] == 1
    assert told['cqs_requests_total{action="none",code="UnknownOperationException"}'] == 1


def call(body: str, content_type: str, target: str = "") -> bytes:
    action = f"X-Amz-Target: AmazonSQS.{target}\r\n" if target else ""
    head = f"POST / HTTP/1.1\r\nHost: a\r\n{action}Content-Type: {content_type}\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n{body}".encode()


async def test_a_call_that_can_not_be_read_counts_among_those_of_the_action_that_it_names() -> None:
    calls = [
        call("{", "application/x-amz-json-1.0", "SendMessage"),
        call("{}", "application/x-amz-json-1.0", "SendMessage"),
        call("Action=SendMessage&QueueUrl=x", "application/x-www-form-urlencoded"),
        call("X=Action=SendMessage&Action=DeleteQueue", "application/x-www-form-urlencoded"),
        call("{}", "application/x-amz-json-1.0", "SendMail"),
        call("Action=SendMail", "application/x-www-form-urlencoded"),
    ]
    async with measured() as node:
        for one in calls:
            assert (await node.door.exchange(one)).status == 400
        told = await node.scrape()

    failed = {name: count for name, count in told.items() if name.startswith("cqs_requests_total") and count}
    assert failed == {
        'cqs_requests_total{action="SendMessage",code="SerializationException"}': 1,
        'cqs_requests_total{action="SendMessage",code="MissingParameter"}': 2,
        'cqs_requests_total{action="DeleteQueue",code="MissingParameter"}': 1,
        'cqs_requests_total{action="none",code="UnknownOperationException"}': 1,
        'cqs_requests_total{action="none",code="InvalidAction"}': 1,
    }
