"""Settings of what clients may take: connections, sizes, times and rates."""

from __future__ import annotations

from dataclasses import dataclass

from cqs.config import values
from cqs.config.schema import setting

_MINUTE_MS = 60_000
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Protection from too many, too large and too slow requests"""

    connections_max: int = setting(10_000, values.integer(1, 1_000_000), "Open connections in all.")
    connections_per_address_max: int = setting(
        10_000, values.integer(1, 1_000_000), "Open connections from one address."
    )
    header_timeout_ms: int = setting(
        10_000, values.duration(100, _HOUR_MS), "For a request's headers to arrive, from its first byte or the connect."
    )
    body_timeout_ms: int = setting(
        60_000,
        values.duration(100, _HOUR_MS),
        "For a request's body to arrive; so long, too, a client may read nothing of its answer.",
    )
    body_max: int = setting(
        6_356_992,
        values.size(2_000, 1_000_000_000),
        "Size of a request's body. The default holds every legal message, each character escaped.",
    )
    request_memory: int = setting(
        256_000_000,
        values.size(0, 1_000_000_000_000),
        "Bytes of all requests that are coming in or being served, beyond 16 kB of each connection; at least body_max. "
        "When they are more, what has been coming in for longest is told ServiceUnavailable.",
    )
    answer_memory: int = setting(
        256_000_000,
        values.size(0, 1_000_000_000_000),
        "Bytes of answers that clients have not read. When they are more, who reads nothing for a second is cut off.",
    )
    header_max: int = setting(
        16_384, values.size(1_000, 1_000_000), "Size of a request's first line and header fields together."
    )
    header_fields_max: int = setting(64, values.integer(10, 1_000), "Header fields of a request.")
    request_rate: int = setting(
        0,
        values.integer(0, 1_000_000),
        "Requests a second with one access key (auth = open: of one account); others are told RequestThrottled. "
        "0: no limit.",
    )
    request_burst: int = setting(
        0, values.integer(0, 1_000_000), "Requests with one access key at once, after a pause. 0: those of a second."
    )
    polls_max: int = setting(
        10_000, values.integer(1, 1_000_000), "Receives of one account that wait for messages at the same time."
    )
    keep_alive_ms: int = setting(
        75_000, values.duration(0, 24 * _HOUR_MS), "How long an idle connection stays open between requests."
    )
    stop_timeout_ms: int = setting(
        10_000, values.duration(0, 10 * _MINUTE_MS), "How long a stopping server waits for requests it accepted."
    )
