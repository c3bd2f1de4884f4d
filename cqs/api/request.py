"""What passes between the HTTP lanes and `dispatch`: raw bytes in, raw bytes out, so that signatures can be checked
over what was really received, and so that two lanes can be compared byte for byte."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

Headers = list[tuple[bytes, bytes]]
Head = Mapping[bytes, bytes]
"""Header values by lower-case name; of repeated ones the last."""


def _always() -> bool:
    return True


class Request(msgspec.Struct, frozen=True, gc=False):
    """An HTTP request as it came: `target` and `headers` undecoded, the body whole."""

    method: bytes
    target: bytes
    headers: Headers
    body: bytes = b""
    peer: str = ""
    """Address of the client, or of the proxy before it."""
    is_client_there: Callable[[], bool] = _always
    head: Head | None = None
    """What `head_of` would say, when the lane knows it and no name is repeated; `headers` may be empty then."""
    is_secure: bool = False
    """It came over TLS, on this very connection."""


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The answer. Content-Length, Date and Server are the lane's. When it could not be written, the lane awaits
    `undelivered`, once."""

    status: int
    headers: Headers
    body: bytes
    undelivered: Callable[[], Awaitable[None]] | None = None


def head_of(headers: Headers) -> Head:
    return {name.lower(): value for name, value in headers}
