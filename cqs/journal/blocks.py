"""Parses a line of the journal's text, which holds events of one kind as columns (`cqs.events`)."""

from __future__ import annotations

from typing import Any

import msgspec

from cqs.events import COLUMNS, VERSION, Head, Line


def _field_of(field: msgspec.structs.FieldInfo) -> tuple[str, Any, Any]:
    if field.name in COLUMNS:
        return field.name, list[field.type], []  # type: ignore[name-defined]
    return field.name, field.type, msgspec.field(default=field.default, default_factory=field.default_factory)  # type: ignore[call-overload]


_FIELDS = msgspec.structs.fields(Line)
_SHARED = {field.name: field.default for field in msgspec.structs.fields(Head)}
_REQUIRED = {field.name for field in _FIELDS if field.required and field.name in COLUMNS}
_decode = msgspec.json.Decoder(msgspec.defstruct("_Block", map(_field_of, _FIELDS), kw_only=True)).decode


def lines_of(text: bytes) -> list[Line]:
    """The events of a line of text, in order of their numbers. Raises msgspec.DecodeError for anything else, or a line
    of another version."""
    try:
        block = _decode(text)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(str(error)) from error
    shared = {name: value for name, default in _SHARED.items() if (value := getattr(block, name)) != default}
    if shared["v"] != VERSION:
        raise msgspec.ValidationError(f"a line of version {shared['v']}, but version {VERSION} is expected")
    columns = {name: column for name in COLUMNS if (column := getattr(block, name))}
    size = len(columns.get("number", ()))
    if not columns.keys() >= _REQUIRED or any(len(column) not in (1, size) for column in columns.values()):
        raise msgspec.ValidationError("columns that are missing, or of unequal length")
    values = zip(*(column if len(column) == size else column * size for column in columns.values()), strict=True)
    return [Line(**shared, **dict(zip(columns, one, strict=True))) for one in values]


def block_of(line: Line) -> bytes:
    """One event as a line of text, without its newline."""
    fields = msgspec.to_builtins(line)
    return msgspec.json.encode({name: [value] if name in COLUMNS else value for name, value in fields.items()})
