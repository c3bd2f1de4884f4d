"""One line of a corpus of bad (or merely odd) input: the request and the expected response."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from cqs.api import operations
from cqs.api.request import Request
from tests.protocol.world import form_request, json_request


class Case(NamedTuple):
    """`code` "" = success. `text` must be part of the error message."""

    name: str
    request: Request
    status: int
    code: str = ""
    text: str = ""


class Meaning(NamedTuple):
    """An action and its members, to be sent in both protocols."""

    name: str
    action: str
    members: dict[str, Any]
    code: str = ""
    text: str = ""
    status: int = 400

    def as_json(self) -> Request:
        return json_request(self.action, json.dumps(self.members).encode())

    def as_form(self) -> Request:
        shape = operations.BY_NAME[self.action].input
        pairs = [("Action", self.action), *flattened("", self.members, shape.QUERY_NAMES)]
        return form_request("&".join(f"{name}={quoted(value)}" for name, value in pairs).encode())


def by_name(cases: Iterable[Any]) -> list[Any]:
    """Returns the cases as parameters of a test, each with its name as id."""
    return [pytest.param(case, id=case.name) for case in cases]


def quoted(value: str) -> str:
    return quote(value, safe="")


def flattened(prefix: str, value: Any, names: Any) -> list[tuple[str, str]]:
    """Returns members under their names in the Query protocol. `names`: the query names of the outermost shape, whose
    lists and maps the inner shapes here repeat."""
    if isinstance(value, bool):
        return [(prefix, "true" if value else "false")]
    if not isinstance(value, dict):
        return [(prefix, str(value))]
    pairs: list[tuple[str, str]] = []
    for name, inner in value.items():
        element = names.get(name, _INNER.get(name, name))
        at = f"{prefix}.{element}" if prefix else element
        if isinstance(inner, list):
            for place, item in enumerate(inner, 1):
                pairs += flattened(f"{at}.{place}", item, {})
        elif isinstance(inner, dict):
            key_name = "Key" if element == "Tag" else "Name"
            for place, (key, item) in enumerate(inner.items(), 1):
                pairs.append((f"{at}.{place}.{key_name}", key))
                pairs += flattened(f"{at}.{place}.Value", item, {})
        else:
            pairs += flattened(at, inner, {})
    return pairs


_INNER = {"MessageAttributes": "MessageAttribute", "MessageSystemAttributes": "MessageSystemAttribute"}
