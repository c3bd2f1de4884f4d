"""The Query protocol's responses in XML.

    <SendMessageResponse xmlns="…">
      <SendMessageResult><MessageId>…</MessageId></SendMessageResult>      omitted for actions without output
      <ResponseMetadata><RequestId>…</RequestId></ResponseMetadata>
    </SendMessageResponse>

Lists and maps are flattened: their elements are direct children of the parent. As on AWS, `"` is written as `&quot;`
and CR as `&#xD;`: a parser that normalized CR would break the body's MD5. XML is never parsed here.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from cqs import limits
from cqs.api.error_table import WireError
from cqs.api.shapes.shape import MAP_KEYS, Shape

CONTENT_TYPE = b"text/xml"
NAMESPACE = "http://queue.amazonaws.com/doc/2012-11-05/"

_HEAD = '<?xml version="1.0"?>'
_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("\r", "&#xD;"))


def encode(action: str, output: Shape | None, request_id: str) -> bytes:
    """A success; `output` None = the action has no output."""
    parts = [_HEAD, f'<{action}Response xmlns="{NAMESPACE}">']
    if output is not None:
        parts.append(f"<{action}Result>")
        _write_struct(parts, output)
        parts.append(f"</{action}Result>")
    parts.append(f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{action}Response>")
    return "".join(parts).encode()


def encode_error(entry: WireError, text: str, request_id: str) -> bytes:
    return (
        f'{_HEAD}<ErrorResponse xmlns="{NAMESPACE}"><Error><Type>{entry.fault}</Type><Code>{entry.query_code}</Code>'
        f"<Message>{_escaped(text)}</Message><Detail/></Error><RequestId>{request_id}</RequestId>"
        "</ErrorResponse>"
    ).encode()


def encode_unknown_operation() -> bytes:
    """The one error that AWS writes in a different form, even for clients that accept JSON."""
    return b"<UnknownOperationException/>\n"


@lru_cache(maxsize=256)
def _members(shape: type[Shape]) -> list[tuple[str, str, object]]:
    """Attribute, element name, and the value at which it is omitted, of each member."""
    return [
        (field.name, shape.QUERY_NAMES.get(field.encode_name, field.encode_name), None if field.required else "")
        for field in msgspec.structs.fields(shape)
    ]


def _write_struct(parts: list[str], shape: Shape) -> None:
    for attribute, name, left_out in _members(type(shape)):
        value = getattr(shape, attribute)
        if value is not None and value != left_out:
            _write(parts, name, value)


def _write(parts: list[str], name: str, value: object) -> None:
    if isinstance(value, list):
        for item in value:
            _write(parts, name, item)
    elif isinstance(value, Mapping):
        _write_map(parts, name, value)
    else:
        parts.append(f"<{name}>")
        if isinstance(value, Shape):
            _write_struct(parts, value)
        else:
            parts.append(_text(value))
        parts.append(f"</{name}>")


def _write_map(parts: list[str], name: str, pairs: Mapping[str, object]) -> None:
    key_name = MAP_KEYS.get(name, "Name")
    for key, value in pairs.items():
        parts.append(f"<{name}><{key_name}>{_escaped(key)}</{key_name}>")
        _write(parts, "Value", value)
        parts.append(f"</{name}>")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return binascii.b2a_base64(value, newline=False).decode()
    return _escaped(str(value))


def _escaped(text: str) -> str:
    """Characters that XML can't represent appear only in error texts and policies; they are replaced."""
    if not text.isprintable():
        text = limits.BAD_CHARACTER.sub("\ufffd", text)
    for character, escape in _ESCAPES:
        text = text.replace(character, escape)
    return text
