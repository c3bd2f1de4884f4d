"""Bad input in the JSON protocol, as data."""

from __future__ import annotations

import json

from cqs.api.request import Request
from tests.protocol.case import Case
from tests.protocol.world import FORM, HOST, JSON, STANDARD, json_request

SERIALIZATION = "SerializationException"
MISSING = "MissingParameter"


def send(body: bytes) -> Request:
    return json_request("SendMessage", body)


def receive_with(member: str, value: str) -> Request:
    return json_request("ReceiveMessage", f'{{"QueueUrl":"{STANDARD}","{member}":{value}}}'.encode())


def targeted(*targets: bytes, content_type: bytes = JSON, body: bytes = b"{}") -> Request:
    targeting = [(b"X-Amz-Target", target) for target in targets]
    mode = (b"x-amzn-query-mode", b"true")
    return Request(b"POST", b"/", [(b"Host", HOST.encode()), (b"Content-Type", content_type), mode, *targeting], body)


_URL = STANDARD.encode()
_SEND = b'{"QueueUrl":"' + _URL + b'","MessageBody":"x"}'
_IS_NOT_JSON = {
    "one byte": b"{",
    "trailing comma": _SEND[:-1] + b",}",
    "trailing bytes": _SEND + b"x",
    "byte order mark": b"\xef\xbb\xbf" + _SEND,
    "utf-16": _SEND.decode().encode("utf-16"),
    "invalid utf-8": _SEND.replace(b'"x"', b'"\xff"'),
    "overlong utf-8": _SEND.replace(b'"x"', b'"\xc0\xaf"'),
    "lone surrogate": _SEND.replace(b'"x"', b'"\\ud800"'),
    "encoded surrogate": _SEND.replace(b'"x"', b'"\xed\xa0\x80"'),
    "raw control character": _SEND.replace(b'"x"', b'"\x01"'),
    "NaN": _SEND[:-1] + b',"DelaySeconds":NaN}',
    "Infinity": _SEND[:-1] + b',"DelaySeconds":Infinity}',
    "single quotes": _SEND.replace(b'"', b"'"),
    "form": b"Action=SendMessage&QueueUrl=" + _URL,
    "xml": b"<SendMessage/>",
    "deep unknown member": _SEND[:-1] + b',"Extra":' + b"[" * 500_000 + b"]" * 500_000 + b"}",
}
_IS_NOT_AN_OBJECT = {"null": b"null", "array": b"[]", "text": b'"x"', "number": b"1", "deep array": b"[" * 100_000}
_WRONG_INTEGERS = {
    "text": '"5"',
    "true": "true",
    "float": "5.0",
    "exponent": "1e1",
    "1e400": "1e400",
    "object": "{}",
    "2^31": str(2**31),
    "2^63": str(2**63),
    "-2^31-1": str(-(2**31) - 1),
    "400 digits": "9" * 400,
    "10,000 digits": "9" * 10_000,
}

CASES = [
    Case("empty body", json_request("SendMessage", b""), 400, MISSING, "QueueUrl"),
    Case("empty object", send(b"{}"), 400, MISSING, "The request must contain the parameter QueueUrl."),
    *(Case(f"not JSON: {name}", send(body), 400, SERIALIZATION) for name, body in _IS_NOT_JSON.items()),
    *(Case(f"not an object: {name}", send(body), 400, SERIALIZATION) for name, body in _IS_NOT_AN_OBJECT.items()),
    *(
        Case(f"count is {name}", receive_with("MaxNumberOfMessages", value), 400, SERIALIZATION)
        for name, value in _WRONG_INTEGERS.items()
    ),
    Case("body is a number", send(b'{"QueueUrl":"u","MessageBody":5}'), 400, SERIALIZATION, "$.MessageBody"),
    Case("body is null", send(b'{"QueueUrl":"u","MessageBody":null}'), 400, MISSING, "MessageBody"),
    Case("body is missing", send(b'{"QueueUrl":"' + _URL + b'"}'), 400, MISSING, "MessageBody"),
    Case("url is a list", send(b'{"QueueUrl":["u"],"MessageBody":"x"}'), 400, SERIALIZATION),
    Case("list is an object", receive_with("AttributeNames", "{}"), 400, SERIALIZATION),
    Case("list holds a number", receive_with("AttributeNames", "[1]"), 400, SERIALIZATION),
    Case("list holds null", receive_with("AttributeNames", "[null]"), 400, SERIALIZATION),
    Case("optional member is null", receive_with("MaxNumberOfMessages", "null"), 200),
    Case("unknown member", receive_with("Extra", '{"a":[1,2,{"b":null}]}'), 200),
    Case("duplicate key", json_request("GetQueueUrl", b'{"QueueName":"nope","QueueName":"orders"}'), 200),
    Case(
        "attribute value is a number",
        json_request("CreateQueue", b'{"QueueName":"n","Attributes":{"DelaySeconds":5}}'),
        400,
        SERIALIZATION,
    ),
    Case(
        "attribute value is null",
        json_request("CreateQueue", b'{"QueueName":"n","Attributes":{"DelaySeconds":null}}'),
        400,
        SERIALIZATION,
    ),
    Case(
        "entry without an id",
        json_request(
            "SendMessageBatch", json.dumps({"QueueUrl": STANDARD, "Entries": [{"MessageBody": "x"}]}).encode()
        ),
        400,
        MISSING,
        "SendMessageBatchRequestEntry.1.Id",
    ),
    Case(
        "entries is null", json_request("SendMessageBatch", b'{"QueueUrl":"u","Entries":null}'), 400, MISSING, "Entries"
    ),
    Case("no target", targeted(), 404, "UnknownOperationException"),
    Case("unknown action", targeted(b"AmazonSQS.Nope"), 404, "UnknownOperationException"),
    Case("lower-case target", targeted(b"amazonsqs.listqueues"), 404, "UnknownOperationException"),
    Case("target of another service", targeted(b"DynamoDB_20120810.ListTables"), 404, "UnknownOperationException"),
    Case("target without prefix", targeted(b"ListQueues"), 404, "UnknownOperationException"),
    Case("target with a tail", targeted(b"AmazonSQS.ListQueues/"), 404, "UnknownOperationException"),
    Case("target that is not text", targeted(b"AmazonSQS.\xff"), 404, "UnknownOperationException"),
    Case("JSON under another content type", targeted(b"AmazonSQS.ListQueues", content_type=b"text/plain"), 200),
    Case(
        "form under a JSON header",
        targeted(b"AmazonSQS.ListQueues", content_type=FORM, body=b"Action=ListQueues"),
        400,
        SERIALIZATION,
    ),
]
