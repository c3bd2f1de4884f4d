"""Decides whether a request is plain: the fast lane's only decision about a request head.

Plain is: POST, HTTP/1.1, to "/" or a queue's own path, no header field twice, one Host, one Content-Length of digits
within bounds, and no transfer options that need special handling. httptools parses the head; anything that it accepts
but a plain request may not contain makes the request one for the reference lane.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import httptools

from cqs.api.http.bounds import Bounds

_TARGET = re.compile(rb"/|/[0-9]{12}/[A-Za-z0-9_.-]{1,80}")
_NEEDS_THOUGHT = frozenset(
    {b"transfer-encoding", b"content-encoding", b"upgrade", b"te", b"trailer", b"proxy-connection"}
)
_EXPECTED = frozenset({b"", b"100-continue"})
_LENGTH_DIGITS_MAX = 9


class PlainHead(NamedTuple):
    """The head of a plain request. `fields`: values by lower-case name."""

    target: bytes
    fields: dict[bytes, bytes]
    body_length: int
    is_continue_expected: bool


def read_plain_head(head: bytes, bounds: Bounds) -> PlainHead | None:
    """The parsed head, including its final empty line, or None when the request is not plain."""
    found = _Found()
    parser = httptools.HttpRequestParser(found)
    try:
        parser.feed_data(head)
        if parser.get_method() != b"POST" or parser.get_http_version() != "1.1":
            return None
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return None
    fields = found.fields
    length = fields.get(b"content-length", b"")
    expected = fields.get(b"expect", b"").lower()
    if (
        len(fields) != found.count
        or found.count > bounds.headers_max
        or len(head) > bounds.header_bytes_max
        or b"host" not in fields
        or (found.target != b"/" and not _TARGET.fullmatch(found.target))
        or not fields.keys().isdisjoint(_NEEDS_THOUGHT)
        or fields.get(b"connection", b"keep-alive").lower() != b"keep-alive"
        or expected not in _EXPECTED
        or not length.isdigit()
        or len(length) > _LENGTH_DIGITS_MAX
        or int(length) > bounds.body_bytes_max
    ):
        return None
    return PlainHead(found.target, fields, int(length), bool(expected))


class _Found:
    """The parser's callbacks."""

    __slots__ = ("count", "fields", "target")

    def __init__(self) -> None:
        self.target = b""
        self.count = 0
        self.fields: dict[bytes, bytes] = {}

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.count += 1
        self.fields[name.lower()] = value
