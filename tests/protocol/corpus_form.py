"""Bad input in the Query protocol, as data."""

from __future__ import annotations

from cqs.api.request import Request
from tests.protocol.case import Case, quoted
from tests.protocol.world import FORM, HOST, STANDARD, form_request

MALFORMED = "MalformedInput"
UNREADABLE = "MalformedQueryString"
MISSING = "MissingParameter"
INVALID = "InvalidParameterValue"
EMPTY = "AWS.SimpleQueueService.EmptyBatchRequest"
UNKNOWN = "UnknownOperationException"
_URL = "QueueUrl=" + quoted(STANDARD)
_PATH = b"/000000000000/orders"
_ENTRY = "SendMessageBatchRequestEntry"


def form(*parts: str, target: bytes = b"/") -> Request:
    return form_request("&".join(parts).encode(), target=target)


def batch(*parts: str) -> Request:
    return form("Action=SendMessageBatch", _URL, *parts)


def receive(*parts: str) -> Request:
    return form("Action=ReceiveMessage", _URL, *parts)


def get(target: bytes, *headers: tuple[bytes, bytes]) -> Request:
    return Request(b"GET", target, [(b"Host", HOST.encode()), *headers])


def typed(content_type: bytes) -> Request:
    return Request(b"POST", b"/", [(b"Host", HOST.encode()), (b"Content-Type", content_type)], b"Action=ListQueues")


CASES = [
    Case("empty form", form(""), 404, UNKNOWN),
    Case("no action", form("Version=2012-11-05"), 404, UNKNOWN),
    Case("empty action", form("Action="), 404, UNKNOWN),
    Case(
        "unknown action", form("Action=Nope"), 400, "InvalidAction", "The action Nope is not valid for this endpoint."
    ),
    Case("lower-case action", form("Action=listqueues"), 400, "InvalidAction"),
    Case("hostile action", form("Action=" + quoted('<a>"&\r\n\0')), 400, "InvalidAction"),
    Case("two actions", form("Action=ListQueues", "Action=PurgeQueue"), 400, MALFORMED, "Action"),
    Case("the same action twice", form("Action=ListQueues", "Action=ListQueues"), 200),
    Case("action in URL and body, different", form("Action=ListQueues", target=b"/?Action=PurgeQueue"), 400, MALFORMED),
    Case("URL and body together", form("QueueNamePrefix=orders", target=b"/?Action=ListQueues"), 200),
    Case("no version", form("Action=ListQueues"), 200),
    Case("old version", form("Action=ListQueues", "Version=2011-10-01"), 200),
    Case("version that never was", form("Action=ListQueues", "Version=2031-01-01"), 400, "NoSuchVersion"),
    Case("two versions", form("Action=ListQueues", "Version=2012-11-05", "Version=2011-10-01"), 400, MALFORMED),
    Case("CreateQueue at a queue", form("Action=CreateQueue", "QueueName=n", target=_PATH), 400, "InvalidAction"),
    Case("ListQueues at a queue", form("Action=ListQueues", target=_PATH), 400, "InvalidAction"),
    Case("GET of a queue without an action", get(_PATH), 404, UNKNOWN),
    Case("GET of the root", get(b"/"), 404, UNKNOWN),
    Case("GET of a queue by who accepts JSON", get(_PATH, (b"Accept", b"application/json")), 404, UNKNOWN),
    Case("GET of no queue's path", get(b"/favicon.ico"), 404, UNKNOWN),
    *(
        Case(f"path {path.decode()}", get(path), 404, UNKNOWN)
        for path in (b"//", b"/../", b"/%2e", b"/%00", b"/%zz", b"/000000000000/../orders")
    ),
    Case("a whole URL as target", get(b"http://other:1" + _PATH + b"?Action=ReceiveMessage"), 200),
    Case("queue of the path", form("Action=ReceiveMessage", target=_PATH), 200),
    Case(
        "queue of the path that is none",
        form("Action=ReceiveMessage", target=b"/000000000000/nope"),
        400,
        "AWS.SimpleQueueService.NonExistentQueue",
        "does not exist for this wsdl version.",
    ),
    Case("QueueUrl wins over the path", form("Action=ReceiveMessage", _URL, target=b"/000000000000/nope"), 200),
    Case("invalid percent encoding", form("Action=ListQueues", "QueueNamePrefix=%zz"), 200),
    Case("bytes that are not UTF-8", form("Action=ListQueues", "QueueNamePrefix=%ff"), 400, UNREADABLE),
    Case("raw bytes that are not UTF-8", form_request(b"Action=ListQueues&QueueNamePrefix=\xff"), 400, UNREADABLE),
    Case("encoded surrogate", form("Action=ListQueues", "QueueNamePrefix=%ed%a0%80"), 400, UNREADABLE),
    Case("10,000 parameters", form("Action=ListQueues", *(f"P{number}=" for number in range(10_000))), 400, UNREADABLE),
    Case("JSON in a form", form('{"QueueNamePrefix":"a"}'), 404, UNKNOWN),
    Case("form as plain text", typed(b"text/plain"), 404, UNKNOWN),
    Case("form as multipart", typed(b"multipart/form-data; boundary=x"), 404, UNKNOWN),
    Case("form with a charset", typed(FORM + b"; charset=utf-8"), 200),
    Case("content type in capitals", typed(FORM.upper()), 200),
    Case(
        "places with a gap",
        batch(f"{_ENTRY}.1.Id=a", f"{_ENTRY}.1.MessageBody=x", f"{_ENTRY}.3.Id=b", f"{_ENTRY}.3.MessageBody=y"),
        200,
    ),
    *(
        Case(f"place {place}", batch(f"{_ENTRY}.{place}.Id=a", f"{_ENTRY}.{place}.MessageBody=x"), 400, MALFORMED)
        for place in ("0", "01", "-1", "1e1", "9999999999", "")
    ),
    Case("place 99999999", batch(f"{_ENTRY}.99999999.Id=a", f"{_ENTRY}.99999999.MessageBody=x"), 200),
    Case(
        "place and no place", batch(f"{_ENTRY}.1.Id=a", f"{_ENTRY}.1.MessageBody=x", f"{_ENTRY}.Id=b"), 400, MALFORMED
    ),
    Case("no place", batch(f"{_ENTRY}.Id=a", f"{_ENTRY}.MessageBody=x"), 200),
    Case("entry without an id", batch(f"{_ENTRY}.1.MessageBody=x"), 400, MISSING, f"{_ENTRY}.1.Id"),
    Case("list that is a value", batch(f"{_ENTRY}=x"), 400, MALFORMED),
    Case("no entries", batch(), 400, EMPTY),
    Case("entries as an empty value", batch(f"{_ENTRY}="), 400, EMPTY),
    Case("names as an empty value", receive("AttributeName=", "MessageAttributeName="), 200),
    Case("name without a number", receive("AttributeName=All"), 200),
    Case("name both ways", receive("AttributeName=All", "AttributeName.1=All"), 400, MALFORMED),
    Case("name that is a structure", receive("AttributeName.1.Name=All"), 400, MALFORMED),
    Case(
        "attribute without a value",
        form("Action=SetQueueAttributes", _URL, "Attribute.1.Name=DelaySeconds"),
        400,
        MISSING,
        "Attribute.1.Value",
    ),
    Case(
        "attribute without a name",
        form("Action=SetQueueAttributes", _URL, "Attribute.1.Value=1"),
        400,
        MISSING,
        "Attribute.1.Name",
    ),
    Case("attribute that is a value", form("Action=SetQueueAttributes", _URL, "Attribute.1=x"), 400, MALFORMED),
    Case(
        "attribute named twice",
        form(
            "Action=SetQueueAttributes",
            _URL,
            "Attribute.1.Name=DelaySeconds",
            "Attribute.1.Value=1",
            "Attribute.2.Name=DelaySeconds",
            "Attribute.2.Value=1",
        ),
        400,
        MALFORMED,
    ),
    *(
        Case(
            f"count is {value!r}", receive("MaxNumberOfMessages=" + quoted(value)), 400, INVALID, "MaxNumberOfMessages"
        )
        for value in ("", "x", "1e1", " 5", "5 ", "5.0", "+5", "\u0665", "true", str(2**31), str(2**63), "9" * 10_000)
    ),
    Case(
        "binary value with bad padding",
        form(
            "Action=SendMessage",
            _URL,
            "MessageBody=x",
            "MessageAttribute.1.Name=a",
            "MessageAttribute.1.Value.DataType=Binary",
            "MessageAttribute.1.Value.BinaryValue=YQ",
        ),
        400,
        INVALID,
    ),
    Case("names as deep as they go", form("Action=ListQueues", ".".join("a" * 1_000) + "=x"), 200),
    Case("name of dots only", form("Action=ListQueues", "...=x"), 200),
    Case("value and structure", form("Action=ListQueues", "A=x", "A.B=y"), 400, MALFORMED),
    Case("structure and value", form("Action=ListQueues", "A.B=y", "A=x"), 400, MALFORMED),
]
