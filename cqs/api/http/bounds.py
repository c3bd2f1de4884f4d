"""What a client may use: sizes, times and connections."""

from __future__ import annotations

from dataclasses import dataclass

from cqs import limits

_ESCAPED_MAX = 6
"""Bytes of JSON that one byte of a message may take: `\\u0041`."""
_ENVELOPE_MAX = 65_536


@dataclass(frozen=True, slots=True)
class Bounds:
    """Times in seconds, sizes in bytes."""

    body_bytes_max: int = _ESCAPED_MAX * limits.MESSAGE_SIZE_MAX + _ENVELOPE_MAX
    headers_max: int = 64
    header_bytes_max: int = 16_384
    """For the request target and all header fields together."""
    header_s_max: float = 10.0
    """From connecting, or from the first byte of a later request, until its headers are complete."""
    body_s_max: float = 60.0
    body_grace_s: float = 10.0
    """After this, a body must have arrived at `body_rate_min` bytes per second."""
    body_rate_min: int = 1_000
    idle_s_max: float = 75.0
    """Between two requests of a connection."""
    linger_s_max: float = 2.0
    """How long the server keeps reading from a refused client, so that the client can read the refusal."""
    requests_bytes_max: int = 256_000_000
    """For all requests being received or served, over all connections (`cqs.api.http.room`)."""
    answers_bytes_max: int = 256_000_000
    """For all answers that clients have not read, over all connections (`cqs.api.http.unread`)."""
    unread_s_max: float = 60.0
    """How long a client may go without reading any of its answer."""
    connections_max: int = 10_000
    connections_per_address_max: int = 10_000


DEFAULT_BOUNDS = Bounds()
