"""Limits on clients: connections, sizes, times and rates."""

from __future__ import annotations

from dataclasses import dataclass

from cqs.config import values
from cqs.config.schema import setting

_MINUTE_MS = 60_000
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits"""

    connections_max: int = setting(10_000, values.integer(1, 1_000_000), "Maximum number of open connections.")
    connections_per_address_max: int = setting(
        10_000, values.integer(1, 1_000_000), "Maximum number of open connections from one address."
    )
    header_timeout_ms: int = setting(
        10_000,
        values.duration(100, _HOUR_MS),
        "Time for a request's headers to arrive, counted from its first byte or from the connect.",
    )
    body_timeout_ms: int = setting(
        60_000,
        values.duration(100, _HOUR_MS),
        "Time for a request's body to arrive; also how long a client may go without reading any of its response.",
    )
    body_max: int = setting(
        6_356_992,
        values.size(2_000, 1_000_000_000),
        "Maximum size of a request body. The default fits every legal message, even with each character escaped.",
    )
    request_memory: int = setting(
        256_000_000,
        values.size(0, 1_000_000_000_000),
        "Memory for all requests being received or served, beyond 16 kB per connection; at least body_max. Above it, "
        "the request that has been arriving for longest gets ServiceUnavailable.",
    )
    answer_memory: int = setting(
        256_000_000,
        values.size(0, 1_000_000_000_000),
        "Memory for responses that clients have not read yet. Above it, clients that read nothing for a second are "
        "disconnected.",
    )
    header_max: int = setting(
        16_384, values.size(1_000, 1_000_000), "Maximum size of a request's first line and headers together."
    )
    header_fields_max: int = setting(64, values.integer(10, 1_000), "Maximum number of headers in a request.")
    request_rate: int = setting(
        0,
        values.integer(0, 1_000_000),
        "Maximum requests per second of one access key (auth = open: of one account); others get RequestThrottled. "
        "0: no limit.",
    )
    request_burst: int = setting(
        0, values.integer(0, 1_000_000), "Size of the burst that request_rate allows. 0: the requests of one second."
    )
    polls_max: int = setting(
        10_000, values.integer(1, 1_000_000), "Maximum number of waiting long polls of one account."
    )
    keep_alive_ms: int = setting(
        75_000, values.duration(0, 24 * _HOUR_MS), "How long an idle connection is kept open between requests."
    )
    stop_timeout_ms: int = setting(
        10_000, values.duration(0, 10 * _MINUTE_MS), "How long a stopping server waits for requests in progress."
    )
