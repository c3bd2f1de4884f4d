"""Expands forms, from the body or the URL, into the same shapes that JSON fills.

    Action=SendMessageBatch & Version=2012-11-05 & QueueUrl=…
    & SendMessageBatchRequestEntry.1.Id=a & SendMessageBatchRequestEntry.1.MessageBody=…
      └ query name of Entries ─────┘ │ └ member, expanded in turn
                                     └ index; indexes ascend, gaps are allowed

One generic expander reads the shapes; nothing here knows any action. Lists and maps with one element may omit the index
(`AttributeName=All`), as old SDKs do.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec

from cqs.api.shapes.shape import MAP_KEYS, Shape
from cqs.api.wire_errors import MalformedInput, MalformedQueryString
from cqs.errors import InvalidParameterValue, MissingParameter

FIELDS_MAX = 2_000
"""More than a legal request can have: ten entries with ten attributes take 360, fifty tags take 100."""
DEPTH_MAX = 8
VERSIONS = frozenset({"2012-11-05", "2011-10-01", "2009-02-01", "2008-01-01"})

Form = dict[str, str]
_Node = str | dict[str, "_Node"]
"""A form as a tree: names are split at their dots."""
_Reader = Callable[[_Node, str], object]
"""Reads one member from its node; the second argument is its full name, for error texts."""

_PLACE = re.compile(r"[1-9][0-9]{0,8}")
_INTEGER = re.compile(r"-?[0-9]{1,10}")
_BATCH = "BatchRequestEntry"
"""Lists with this suffix may be empty, which a form expresses by omitting them; their actions have an error for
that."""


def parse_form(query: bytes, body: bytes) -> Form:
    """The parameters of the URL and of a form body, combined. Raises MalformedQueryString when one can't be parsed,
    MalformedInput when a parameter has two different values."""
    form: Form = {}
    for part in (query, body):
        if not part:
            continue
        try:
            pairs = parse_qsl(part.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
        except ValueError as error:
            raise MalformedQueryString("The query string or form is malformed, or has too many parameters.") from error
        for name, value in pairs:
            if form.setdefault(name, value) != value:
                raise MalformedInput(f"The parameter {name} is given more than once, with different values.")
    return form


def expand(shape: type[Shape], form: Form) -> Shape:
    """The input that the form describes; unknown parameters are ignored, as on AWS. Raises MissingParameter,
    InvalidParameterValue (not a valid number), MalformedInput (an inconsistent list)."""
    return _read_struct(shape, _tree_of(form), "")


def unknown_version(form: Form) -> str | None:
    """The requested version if it does not exist, else None."""
    version = form.get("Version")
    return version if version is not None and version not in VERSIONS else None


def _tree_of(form: Form) -> dict[str, _Node]:
    root: dict[str, _Node] = {}
    for name, value in form.items():
        *path, last = name.split(".", DEPTH_MAX)
        node = root
        for part in path:
            child = node.setdefault(part, {})
            if isinstance(child, str):
                raise MalformedInput(f"{name} is given both as a value and as a structure.")
            node = child
        if node.setdefault(last, value) is not value:
            raise MalformedInput(f"{name} is given both as a value and as a structure.")
    return root


def _read_struct(shape: type[Shape], node: _Node, at: str) -> Shape:
    if isinstance(node, str):
        raise MalformedInput(f"{at} is a structure, not a value.")
    values: dict[str, object] = {}
    prefix = at + "." if at else ""
    for attribute, name, is_required, read in _members(shape):
        child = node.get(name)
        value = None if child is None else read(child, prefix + name)
        if value is not None:
            values[attribute] = value
        elif is_required and name.endswith(_BATCH):
            values[attribute] = []
        elif is_required:
            raise MissingParameter.named(prefix + name)
    return shape(**values)


@lru_cache(maxsize=256)
def _members(shape: type[Shape]) -> list[tuple[str, str, bool, _Reader]]:
    """Attribute, query name, whether required, and reader of each member."""
    members = []
    for field in msgspec.structs.fields(shape):
        name = shape.QUERY_NAMES.get(field.encode_name, field.encode_name)
        members.append((field.name, name, field.required, _reader_of(field.type, name)))
    return members


def _reader_of(kind: Any, name: str) -> _Reader:
    """How to read a member of this type."""
    kind = _bare(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is list:
        read_item = _reader_of(arguments[0], "")
        return lambda node, at: [read_item(item, place) for place, item in _elements(node, at)]
    if origin is dict:
        read_value = _reader_of(arguments[1], "")
        return lambda node, at: _read_map(node, at, MAP_KEYS.get(name, "Name"), read_value)
    if isinstance(kind, type) and issubclass(kind, Shape):
        return lambda node, at: _read_struct(kind, node, at)
    return _SCALARS[kind]


def _bare(kind: Any) -> Any:
    """The type without `| None` and without annotations."""
    if get_origin(kind) in (Union, UnionType):
        kind = next(part for part in get_args(kind) if part is not NoneType)
    return kind.__origin__ if hasattr(kind, "__metadata__") else kind


def _read_text(node: _Node, at: str) -> str:
    if not isinstance(node, str):
        raise MalformedInput(f"{at} is a value, not a structure.")
    return node


def _read_integer(node: _Node, at: str) -> int:
    text = _read_text(node, at)
    if not _INTEGER.fullmatch(text) or not -(2**31) <= int(text) < 2**31:
        raise InvalidParameterValue.of(text[:100], at, "Must be an integer.")
    return int(text)


def _read_bytes(node: _Node, at: str) -> bytes:
    text = _read_text(node, at)
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise InvalidParameterValue.of(text[:100], at, "Must be valid base64.") from error


_SCALARS: Mapping[type, _Reader] = {str: _read_text, int: _read_integer, bytes: _read_bytes}


def _read_map(node: _Node, at: str, key_name: str, read_value: _Reader) -> dict[str, object]:
    pairs: dict[str, object] = {}
    for place, item in _elements(node, at):
        if isinstance(item, str):
            raise MalformedInput(f"{place} is a structure, not a value.")
        for part in (key_name, "Value"):
            if part not in item:
                raise MissingParameter.named(f"{place}.{part}")
        key = _read_text(item[key_name], f"{place}.{key_name}")
        if key in pairs:
            raise MalformedInput(f"{at} names {key} more than once.")
        pairs[key] = read_value(item["Value"], f"{place}.Value")
    return pairs


def _elements(node: _Node, at: str) -> list[tuple[str, _Node]]:
    """The elements of a list with their full names, in order: `at.1`, `at.2` …, or `at` itself, without an index. SDKs
    write an empty list as an empty value."""
    if isinstance(node, str):
        return [(at, node)] if node else []
    places = [int(part) for part in node if _PLACE.fullmatch(part)]
    if not places and all(part[:1].isalpha() for part in node):
        return [(at, node)]
    if len(places) < len(node):
        raise MalformedInput(f"The elements of {at} are not numbered from 1.")
    return [(f"{at}.{place}", node[str(place)]) for place in sorted(places)]
