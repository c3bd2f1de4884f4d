"""The Query protocol: a form as input, by POST or in the URL of a GET; XML as output, or JSON for clients that ask for
it."""

from __future__ import annotations

import asyncio
import re

from cqs.api import urls
from cqs.api.error_table import TABLE, WireError
from cqs.api.operations import BY_NAME, Operation
from cqs.api.protocol import form, query_json, xml
from cqs.api.protocol.codec import REQUEST_ID, Undelivered
from cqs.api.request import Head, Headers, Reply, Request
from cqs.api.shapes.shape import Shape
from cqs.api.wire_errors import InvalidAction, NoSuchVersion, UnknownOperation
from cqs.errors import QueueDoesNotExist

_FORM = b"application/x-www-form-urlencoded"
_ACTION = re.compile(rb"(?:^|&)Action=([A-Za-z]{1,80})(?:&|$)")
_ACTION_WITHIN = 4_096
"""How many bytes of a form are searched for the action when the form is not parsed."""
LARGE_FORM = 131_072
"""Forms of this many bytes or more are decoded in a thread: a full message consisting only of escapes takes a
second."""
_NO_QUEUE = TABLE[QueueDoesNotExist]
_UNKNOWN = TABLE[UnknownOperation]


class QueryCodec:
    """`is_json`: the client's Accept header starts with JSON."""

    def __init__(self, *, is_json: bool) -> None:
        self._content_type = query_json.CONTENT_TYPE if is_json else xml.CONTENT_TYPE
        self._encode = query_json.encode if is_json else xml.encode
        self._encode_error = query_json.encode_error if is_json else xml.encode_error

    async def read(self, request: Request, head: Head) -> tuple[Operation, Shape]:
        parameters = await _parameters_of(request, head)
        action = parameters.get("Action")
        if not action:
            raise UnknownOperation
        path = urls.path_of(request.target)
        is_queue_path = urls.name_of_url(path) is not None
        operation = BY_NAME.get(action)
        if operation is None or (is_queue_path and not operation.is_on_queue):
            raise InvalidAction(action)
        version = form.unknown_version(parameters)
        if version is not None:
            raise NoSuchVersion(version)
        if is_queue_path:
            parameters.setdefault("QueueUrl", path)
        return operation, form.expand(operation.input, parameters)

    def action_of(self, request: Request, head: Head) -> str:
        for part in (request.target.partition(b"?")[2], request.body):
            named = _ACTION.search(part, 0, _ACTION_WITHIN)
            if named is not None and (name := named[1].decode()) in BY_NAME:
                return name
        return ""

    def answer(self, operation: Operation, output: Shape | None, request_id: str, undelivered: Undelivered) -> Reply:
        body = self._encode(operation.name, output, request_id)
        return Reply(200, _headers(request_id, self._content_type), body, undelivered)

    def refuse(self, entry: WireError, text: str, request_id: str) -> Reply:
        if entry is _NO_QUEUE:
            text = text.removesuffix(".") + " for this wsdl version."
        if entry is _UNKNOWN:
            return Reply(entry.status, _headers(request_id, xml.CONTENT_TYPE), xml.encode_unknown_operation())
        body = self._encode_error(entry, text, request_id)
        return Reply(entry.status, _headers(request_id, self._content_type), body)


def _headers(request_id: str, content_type: bytes) -> Headers:
    return [(REQUEST_ID, request_id.encode()), (b"Content-Type", content_type)]


async def _parameters_of(request: Request, head: Head) -> form.Form:
    is_form = request.method == b"POST" and head.get(b"content-type", _FORM).lower().startswith(_FORM)
    query, body = request.target.partition(b"?")[2], request.body if is_form else b""
    if len(body) < LARGE_FORM:
        return form.parse_form(query, body)
    return await asyncio.to_thread(form.parse_form, query, body)
