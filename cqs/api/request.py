"""What passes between the HTTP lanes and `dispatch`: raw bytes in both directions, so that signatures are verified over
what was actually received, and so that the two lanes can be compared byte for byte."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

import msgspec

Headers = list[tuple[bytes, bytes]]
Head = Mapping[bytes, bytes]
"""Header values by lower-case name; for a repeated name, the last value."""


class Client(Protocol):
    """The other end of the connection. Belongs to the event loop."""

    def is_client_there(self) -> bool: ...

    def when_gone(self, call: Callable[[], None] | None) -> None:
        """Calls it when the client disconnects; at once, if it has. One call at a time; None = do not call it any
        more."""


class _Staying:
    def is_client_there(self) -> bool:
        return True

    def when_gone(self, call: Callable[[], None] | None) -> None:
        pass


STAYING = _Staying()
"""A client that does not disconnect."""


class Request(msgspec.Struct, frozen=True, gc=False):
    """An HTTP request as received: `target` and `headers` not decoded, the body complete."""

    method: bytes
    target: bytes
    headers: Headers
    body: bytes = b""
    peer: str = ""
    """Address of the client, or of the proxy in front of the server."""
    client: Client = STAYING
    head: Head | None = None
    """What `head_of` would return, if the lane has it and no name is repeated; `headers` may be empty then."""
    is_secure: bool = False
    """Whether this connection uses TLS."""


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The reply. The lane adds Content-Length, Date and Server. If it can't write the reply, it awaits `undelivered`,
    once."""

    status: int
    headers: Headers
    body: bytes
    undelivered: Callable[[], Awaitable[None]] | None = None


def head_of(headers: Headers) -> Head:
    return {name.lower(): value for name, value in headers}
