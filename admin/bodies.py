"""Displays a message's body: as text, as indented JSON, as hex, as base64. Bodies are untrusted: the result is text,
which the templates escape; a large body is truncated, and can be downloaded whole."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable

import msgspec

from admin.formats import visible
from cqs.message import Attribute

SHOWN_MAX = 100_000
PREVIEW_MAX = 140
HEX_BYTES_MAX = 16_384
_HEX_ROW = 16
_JSON_MAX = 1_500_000
_lines = json.JSONEncoder(indent=2, ensure_ascii=False)


class Shown(msgspec.Struct, frozen=True):
    """A body in one of these forms. `cut` = how many characters or bytes are not shown; -1 = an unknown number:
    indented JSON can be a thousand times as long as the body."""

    kind: str
    text: str
    cut: int = 0
    is_json: bool = False


KINDS = {"json": "JSON", "text": "Text", "hex": "Hex", "base64": "Base64"}


def shown(body: str, wanted: str) -> Shown:
    """The body in the requested form; "" = as JSON if it is JSON, else as text."""
    pretty = pretty_json(body, SHOWN_MAX + 1)
    kind = wanted if wanted in KINDS else "json" if pretty is not None else "text"
    if kind == "json" and pretty is None:
        kind = "text"
    if kind == "hex":
        raw = body.encode("utf-8", "surrogatepass")
        return Shown(kind, hex_dump(raw[:HEX_BYTES_MAX]), max(0, len(raw) - HEX_BYTES_MAX), pretty is not None)
    if kind == "json" and pretty is not None:
        return Shown(kind, pretty[:SHOWN_MAX], -1 if len(pretty) > SHOWN_MAX else 0, is_json=True)
    text = body
    if kind == "base64":
        text = b64encode(body.encode("utf-8", "surrogatepass")).decode()
    elif kind == "text":
        text = visible(body[: SHOWN_MAX + 1])
    over = len(body) - SHOWN_MAX if kind == "text" else len(text) - SHOWN_MAX
    return Shown(kind, text[:SHOWN_MAX], max(0, over), pretty is not None)


def pretty_json(body: str, length_max: int) -> str | None:
    """JSON objects and arrays, indented, with every control character escaped: the first `length_max` characters or
    slightly more; None for anything else."""
    if not body.lstrip(" \t\r\n").startswith(("{", "[")) or len(body) > _JSON_MAX:
        return None
    try:
        value = msgspec.json.decode(body)
        text = _beginning(_lines.iterencode(value), length_max)
    except (ValueError, RecursionError):
        return None
    return visible(text)


def _beginning(parts: Iterable[str], length: int) -> str:
    taken = []
    for part in parts:
        taken.append(part[:length])
        length -= len(part)
        if length <= 0:
            break
    return "".join(taken)


def preview(body: str) -> str:
    """The beginning, on one line."""
    head = body[: PREVIEW_MAX * 2]
    line = visible(" ".join(head.split()))
    return line if len(body) <= len(head) and len(line) <= PREVIEW_MAX else line[:PREVIEW_MAX] + "\u2026"


def hex_dump(raw: bytes) -> str:
    """Offset, sixteen bytes, and their printable ASCII characters."""
    lines = []
    for start in range(0, len(raw), _HEX_ROW):
        row = raw[start : start + _HEX_ROW]
        plain = "".join(chr(one) if 32 <= one < 127 else "." for one in row)
        lines.append(f"{start:08x}  {row.hex(' '):<{_HEX_ROW * 3}} {plain}")
    return "\n".join(lines)


def attribute_text(attribute: Attribute) -> str:
    """The value as displayed and entered: base64 for binary values."""
    if attribute.is_binary:
        return b64encode(attribute.value).decode()
    return attribute.value.decode("utf-8", "replace")
