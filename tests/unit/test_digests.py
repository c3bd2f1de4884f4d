"""Digests as botocore computes them: it checks them on every receive, so its own code is the oracle."""

from __future__ import annotations

import hashlib

from cqs import digests
from cqs.message import Attribute, Message


def test_digest_of_a_body_is_that_of_its_utf8_bytes_whether_kept_or_not() -> None:
    body = "größe \U0001f600"
    expected = hashlib.md5(body.encode()).hexdigest()

    assert digests.of_body(Message(address=1, body=body, sent_ms=1)) == expected
    assert digests.of_body(Message(address=1, body=body, sent_ms=1, md5=digests.raw_of_body(body))) == expected


def test_no_attributes_have_no_digest() -> None:
    assert digests.of_attributes([]) == ""


def test_digest_of_attributes_goes_by_name_and_tells_kinds_apart() -> None:
    text = Attribute("b", "String", b"v")
    binary = Attribute("a", "Binary.png", b"v")

    assert digests.of_attributes([text, binary]) == digests.of_attributes([binary, text])
    assert digests.of_attributes([text]) != digests.of_attributes([Attribute("b", "Binary", b"v")])


def test_digest_of_a_known_attribute() -> None:
    """Layout by hand: lengths as four big-endian bytes, 1 for text."""
    layout = b"\0\0\0\x01a" + b"\0\0\0\x06String" + b"\x01" + b"\0\0\0\x02hi"

    assert digests.of_attributes([Attribute("a", "String", b"hi")]) == hashlib.md5(layout).hexdigest()
