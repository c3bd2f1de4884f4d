"""The Query protocol's responses for clients that accept JSON, in a dialect that AWS uses only here:

    {"ReceiveMessageResponse": {
        "ReceiveMessageResult": {"messages": [{"Body": "x", "Attributes": [{"Name": "SenderId", "Value": "A…"}],
                                               "MessageAttributes": null, …}]},        omitted if there is no output
        "ResponseMetadata": {"RequestId": "…"}}}

Missing or empty members are null; maps are lists of pairs; two lists have lower-case names.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from cqs.api.error_table import WireError
from cqs.api.shapes.shape import MAP_KEYS, Shape

CONTENT_TYPE = b"application/json"
_LOWER = {"Messages": "messages", "QueueUrls": "queueUrls"}


def encode(action: str, output: Shape | None, request_id: str) -> bytes:
    """A success; `output` None = the action has no output."""
    response: dict[str, object] = {"ResponseMetadata": {"RequestId": request_id}}
    if output is not None:
        response[f"{action}Result"] = _members(output)
    return msgspec.json.encode({f"{action}Response": response})


def encode_error(entry: WireError, text: str, request_id: str) -> bytes:
    error = {"Type": entry.fault, "Code": entry.query_code, "Message": text, "Detail": None}
    return msgspec.json.encode({"Error": error, "RequestId": request_id})


def _members(shape: Shape) -> dict[str, object]:
    members = {}
    for field in msgspec.structs.fields(shape):
        name = field.encode_name
        value = _plain(getattr(shape, field.name), shape.QUERY_NAMES.get(name, name))
        members[_LOWER.get(name, name)] = None if value in ("", []) else value
    return members


def _plain(value: object, element: str) -> object:
    """`element` is the member's name in the Query protocol."""
    if isinstance(value, Shape):
        return _members(value)
    if isinstance(value, list):
        return [_plain(item, "") for item in value]
    if isinstance(value, Mapping):
        key_name = MAP_KEYS.get(element, "Name")
        return [{key_name: key, "Value": _plain(item, "")} for key, item in value.items()]
    return value
