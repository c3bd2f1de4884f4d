"""Requests that HTTP forbids or that two servers could parse differently, as bytes on the wire. All except the harmless
ones are rejected and their connection is closed, so that no following bytes are parsed as another request."""

from __future__ import annotations

import gzip
from typing import NamedTuple

_PURGE = b"GET /000000000000/orders?Action=PurgeQueue HTTP/1.1\r\nHost: a\r\n\r\n"
"""Smuggled behind the bodies: if it is executed, the first request was misparsed."""
_POST = b"POST / HTTP/1.1\r\nHost: a\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nx-amzn-query-mode: true\r\n"
_CHUNKED = _POST + b"Transfer-Encoding: chunked\r\n\r\n"
_BODY = b"2\r\n{}\r\n0\r\n\r\n"


class Raw(NamedTuple):
    """`code`: the error code as SDKs read it from the response."""

    name: str
    data: bytes
    status: int
    code: str = ""


def with_length(length: bytes) -> bytes:
    return _POST + b"Content-Length: " + length + b"\r\n\r\n{}" + _PURGE


def with_field(field: bytes) -> bytes:
    return _POST + field + b"\r\nContent-Length: 2\r\n\r\n{}" + _PURGE


def many_fields(count: int) -> bytes:
    return b"\r\n".join(b"X-%d: a" % number for number in range(count))


REFUSED = [
    Raw(
        "length and chunked",
        _POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + _BODY + _PURGE,
        400,
        "BadRequest",
    ),
    Raw(
        "chunked and length",
        _POST + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n" + _BODY + _PURGE,
        400,
        "BadRequest",
    ),
    Raw("two lengths", with_length(b"2\r\nContent-Length: 3"), 400, "BadRequest"),
    Raw("the same length twice", with_length(b"2\r\nContent-Length: 2"), 400, "BadRequest"),
    *(
        Raw(f"length {length!r}", with_length(length), 400, "BadRequest")
        for length in (b"+2", b"-2", b"0x2", b"2,2", b"2 2", b"2;", b"", b"\xb2", b"9" * 30)
    ),
    *(
        Raw(
            f"coding {coding!r}",
            _POST + b"Transfer-Encoding: " + coding + b"\r\n\r\n" + _BODY + _PURGE,
            400,
            "BadRequest",
        )
        for coding in (b"xchunked", b"gzip", b"gzip, chunked", b"chunked, chunked", b"identity", b"\x0bchunked", b"")
    ),
    Raw("chunked in HTTP/1.0", _CHUNKED.replace(b"1.1", b"1.0") + _BODY + _PURGE, 400, "BadRequest"),
    Raw("bad chunk size", _CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n" + _PURGE, 400, "BadRequest"),
    Raw("negative chunk size", _CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n" + _PURGE, 400, "BadRequest"),
    Raw("chunk size of 20 digits", _CHUNKED + b"f" * 20 + b"\r\n{}\r\n0\r\n\r\n" + _PURGE, 400, "BadRequest"),
    Raw("chunk that is longer than it says", _CHUNKED + b"1\r\n{}\r\n0\r\n\r\n" + _PURGE, 400, "BadRequest"),
    Raw("space before the colon", with_field(b"X-A : b"), 400, "BadRequest"),
    Raw("folded field", with_field(b"X-A: b\r\n c"), 400, "BadRequest"),
    Raw("field without a colon", with_field(b"X-A"), 400, "BadRequest"),
    Raw("field without a name", with_field(b": a"), 400, "BadRequest"),
    Raw("NUL in a field", with_field(b"X-A: a\0b"), 400, "BadRequest"),
    Raw("bare CR in a field", with_field(b"X-A: a\rb"), 400, "BadRequest"),
    Raw("bare LF", _POST.replace(b"\r\n", b"\n") + b"Content-Length: 2\n\n{}" + _PURGE, 400, "BadRequest"),
    Raw("no host", b"GET / HTTP/1.1\r\n\r\n" + _PURGE, 400, "BadRequest"),
    Raw("two hosts", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + _PURGE, 400, "BadRequest"),
    Raw("two targets", with_field(b"X-Amz-Target: AmazonSQS.PurgeQueue"), 400, "BadRequest"),
    Raw("two authorizations", with_field(b"Authorization: a\r\nAuthorization: b"), 400, "BadRequest"),
    Raw(
        "gzip body",
        _POST + b"Content-Encoding: gzip\r\nContent-Length: 22\r\n\r\n" + gzip.compress(b"{}"),
        415,
        "UnsupportedContentEncoding",
    ),
    Raw(
        "upgrade to websocket",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + _PURGE,
        400,
        "BadRequest",
    ),
    Raw(
        "upgrade to h2c",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + _PURGE,
        400,
        "BadRequest",
    ),
    Raw("HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "BadRequest"),
    Raw("TLS hello", bytes.fromhex("16030100c8010000c40303") + b"x" * 100, 400, "BadRequest"),
    Raw("HTTP/3.7", b"GET / HTTP/3.7\r\nHost: a\r\n\r\n", 400, "BadRequest"),
    Raw("no HTTP at all", b"\0\1\2\3\r\n\r\n", 400, "BadRequest"),
    Raw("CONNECT", b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n" + _PURGE, 405, "MethodNotAllowed"),
    *(
        Raw(method.decode(), method + b" / HTTP/1.1\r\nHost: a\r\n\r\n" + _PURGE, 405, "MethodNotAllowed")
        for method in (b"TRACE", b"PUT", b"DELETE", b"PATCH")
    ),
    Raw("unknown method", b"BREW / HTTP/1.1\r\nHost: a\r\n\r\n" + _PURGE, 400, "BadRequest"),
    *(
        Raw(f"target {target!r}", b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n" + _PURGE, 400, "BadRequest")
        for target in (b"?Action=ListQueues", b"/\xff", b"*", b"a:1", b"http://[::1", b"/ /", b"")
    ),
    Raw("URL of 20 kB", b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431, "RequestHeaderFieldsTooLarge"),
    Raw("65 fields", with_field(many_fields(65)), 431, "RequestHeaderFieldsTooLarge"),
]

FLOODS = [
    Raw(
        "10,000 trailers",
        _CHUNKED + b"2\r\n{}\r\n0\r\n" + many_fields(10_000) + b"\r\n\r\n",
        431,
        "RequestHeaderFieldsTooLarge",
    ),
    Raw("10,000 fields", with_field(many_fields(10_000)), 431, "RequestHeaderFieldsTooLarge"),
    Raw("field of 20 kB", with_field(b"X-A: " + b"a" * 20_000), 431, "RequestHeaderFieldsTooLarge"),
    Raw(
        "two fields of 10 kB",
        with_field(b"X-A: " + b"a" * 10_000 + b"\r\nX-B: " + b"b" * 10_000),
        431,
        "RequestHeaderFieldsTooLarge",
    ),
    Raw(
        "URL of 1 MB", b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431, "RequestHeaderFieldsTooLarge"
    ),
]
"""Rejected while the client is still writing: it may read the error, or only see the connection close."""

HARMLESS = [
    Raw("chunked", _CHUNKED + _BODY, 200),
    Raw("chunked in capitals", _CHUNKED.replace(b"chunked", b"Chunked") + _BODY, 200),
    Raw("chunk extension of 100 kB", _CHUNKED + b"2;" + b"a" * 100_000 + b"\r\n{}\r\n0\r\n\r\n", 200),
    Raw("trailers", _CHUNKED + b"2\r\n{}\r\n0\r\nX-T: 1\r\n\r\n", 200),
    Raw("HTTP/1.0", _POST.replace(b"1.1", b"1.0") + b"Content-Length: 2\r\n\r\n{}", 200),
    Raw("identity", _POST + b"Content-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}", 200),
    Raw("60 fields", _POST + many_fields(60) + b"\r\nContent-Length: 2\r\n\r\n{}", 200),
    Raw("IPv6 host", _POST.replace(b"Host: a", b"Host: [::1]:9324") + b"Content-Length: 2\r\n\r\n{}", 200),
    Raw("hostile host", _POST.replace(b"Host: a", b'Host: "<&>') + b"Content-Length: 2\r\n\r\n{}", 200),
]
