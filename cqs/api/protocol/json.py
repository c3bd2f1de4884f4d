"""AWS JSON 1.0: the action is in X-Amz-Target; input is decoded by type, and output structs are encoded directly.

msgspec rejects input with various errors (malformed text, a wrong type, a missing member, excessive nesting, bad UTF-8,
lone surrogates); clients get one of two: SerializationException, or MissingParameter with the member's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from cqs.api import urls
from cqs.api.error_table import WireError
from cqs.api.operations import BY_TARGET, Operation
from cqs.api.protocol.codec import REQUEST_ID, Undelivered
from cqs.api.request import Head, Reply, Request
from cqs.api.shapes.shape import Shape
from cqs.api.wire_errors import SerializationError, UnknownOperation
from cqs.errors import MissingParameter

CONTENT_TYPE = b"application/x-amz-json-1.0"

_MISSING = re.compile(r"Object missing required field `(\w+)`(?: - at `\$(.*)`)?")
_NULL = re.compile(r"Expected `.*`, got `null` - at `\$(.*)\.(\w+)`")
"""Optional members accept null, so this member is required."""
_INDEX = re.compile(r"\[(\d+)\]")
_NO_QUEUE_URL = str(MissingParameter.named("QueueUrl"))
_encoder = msgspec.json.Encoder()


class _ErrorBody(msgspec.Struct, frozen=True, gc=False):
    type_: str = msgspec.field(name="__type")
    message: str


class JsonCodec:
    """`is_query_mode`: the client set x-amzn-query-mode and understands statuses other than 400."""

    def __init__(self, *, is_query_mode: bool, by_target: Mapping[bytes, Operation] = BY_TARGET) -> None:
        self._is_query_mode = is_query_mode
        self._by_target = by_target

    async def read(self, request: Request, head: Head) -> tuple[Operation, Shape]:
        operation = self._by_target.get(head.get(b"x-amz-target", b""))
        if operation is None:
            raise UnknownOperation
        return operation, _read_input(operation, request)

    def action_of(self, request: Request, head: Head) -> str:
        operation = self._by_target.get(head.get(b"x-amz-target", b""))
        return "" if operation is None else operation.name

    def answer(self, operation: Operation, output: Shape | None, request_id: str, undelivered: Undelivered) -> Reply:
        body = b"" if output is None else _encoder.encode(output)
        return Reply(200, [(REQUEST_ID, request_id.encode()), (b"Content-Type", CONTENT_TYPE)], body, undelivered)

    def refuse(self, entry: WireError, text: str, request_id: str) -> Reply:
        is_own_status = self._is_query_mode or entry.is_http or not entry.is_sender
        headers = [
            (REQUEST_ID, request_id.encode()),
            (b"Content-Type", CONTENT_TYPE),
            (b"x-amzn-query-error", f"{entry.query_code};{entry.fault}".encode()),
        ]
        body = _encoder.encode(_ErrorBody(type_=entry.json_type, message=text))
        return Reply(entry.status if is_own_status else 400, headers, body)


def _read_input(operation: Operation, request: Request) -> Shape:
    body = request.body or b"{}"
    try:
        return _decode(operation.decoder, body)
    except MissingParameter as error:
        path = urls.path_of(request.target)
        if str(error) != _NO_QUEUE_URL or urls.name_of_url(path) is None:
            raise
    return _decode(operation.decoder, _with_queue_url(body, path))


def _with_queue_url(body: bytes, path: str) -> bytes:
    """Adds the QueueUrl that the body omits, for a request to a queue's own URL."""
    members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    members["QueueUrl"] = msgspec.Raw(_encoder.encode(path))
    return _encoder.encode(members)


def _decode(decoder: msgspec.json.Decoder[Shape], body: bytes) -> Shape:
    """The input. Raises MissingParameter or SerializationError."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _of_validation(str(error), decoder.type) from error
    except (ValueError, RecursionError) as error:
        raise SerializationError("The request body is not valid JSON.") from error


def _of_validation(text: str, shape: type[Shape]) -> MissingParameter | SerializationError:
    missing = _MISSING.fullmatch(text)
    if missing is not None:
        return MissingParameter.named(_parameter(missing[2] or "", missing[1], shape))
    null = _NULL.fullmatch(text)
    if null is not None:
        return MissingParameter.named(_parameter(null[1], null[2], shape))
    return SerializationError(text)


def _parameter(path: str, member: str, shape: type[Shape]) -> str:
    """The name in the Query protocol: `$.Entries[0]`, Id → SendMessageBatchRequestEntry.1.Id."""
    parts = path.replace("[...]", "").lstrip(".").split(".") if path else []
    names = []
    for part in parts:
        index = _INDEX.search(part)
        name = part.partition("[")[0]
        names.append(shape.QUERY_NAMES.get(name, name))
        if index is not None:
            names.append(str(int(index[1]) + 1))
    return ".".join([*names, member])
