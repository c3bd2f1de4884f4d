"""The MD5 digests that SQS clients verify (sqs.md A4): of bodies, and of message attributes in AWS's byte layout:

for each attribute, by name:   4-byte length, name · 4-byte length, data type · 1 or 2 · 4-byte length, value
                                                                              (1 = text, 2 = binary)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from cqs.message import Attribute, Message


def raw_of_body(body: str) -> bytes:
    """The 16 bytes of the body's digest."""
    return hashlib.md5(body.encode(), usedforsecurity=False).digest()


def of_body(message: Message) -> str:
    """Hex digest of a message's body."""
    return (message.md5 or raw_of_body(message.body)).hex()


def of_attributes(attributes: Iterable[Attribute]) -> str:
    """Hex digest, or "" if there are no attributes (SQS omits the member then)."""
    digest = hashlib.md5(usedforsecurity=False)
    empty = True
    for attribute in sorted(attributes, key=lambda a: a.name):
        empty = False
        for part in (attribute.name.encode(), attribute.data_type.encode()):
            digest.update(len(part).to_bytes(4, "big") + part)
        digest.update(b"\x02" if attribute.is_binary else b"\x01")
        digest.update(len(attribute.value).to_bytes(4, "big") + attribute.value)
    return "" if empty else digest.hexdigest()
