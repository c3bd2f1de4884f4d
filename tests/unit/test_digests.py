"""Digests as botocore computes them: it checks them on every receive, so its own code is the oracle."""

from __future__ import annotations

import hashlib

import pytest

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


@pytest.mark.parametrize(
    ("attribute", "digest"),
    [
        (Attribute("timestamp", "Number.java.lang.Long", b"1493147359900"), "2e2e4876d8e0bd6b8c2c8f556831c349"),
        (Attribute("Foo", "String", b"Bar"), "ae7155c6026991b6d54b11589678bf9c"),
        (
            Attribute("attr1", "Binary", b"traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01"),
            "8cbe4db156db8a94db8b801b7addb984",
        ),
        (
            Attribute(
                "AWSTraceHeader",
                "String",
                b"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1",
            ),
            "5ae4d5d7636402d80f4eb6d213245a88",
        ),
    ],
)
def test_digest_is_the_one_that_aws_gave(attribute: Attribute, digest: str) -> None:
    assert digests.of_attributes([attribute]) == digest
