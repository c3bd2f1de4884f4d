"""How many files this process may have open. A connection is one."""

from __future__ import annotations

import contextlib
import resource

import structlog

BESIDE = 100
"""Open files that are no connections of clients: the database, logs, Redis, Cassandra."""
_log = structlog.get_logger("cqs.open_files")


def raise_limit() -> None:
    """The usual soft limit of 1,024 is fewer than `connections_max`: it is raised to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connections_within(wanted: int) -> int:
    """As many connections as wanted, or as the limit leaves: beyond that, accepting would fail for everybody."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted + BESIDE:
        return wanted
    possible = max(1, soft - BESIDE)
    _log.warning(
        "fewer_files_than_connections",
        open_files=soft,
        connections_max=wanted,
        used=possible,
        hint=f"ulimit -Hn {wanted + BESIDE} (LimitNOFILE= in systemd), or lower connections_max",
    )
    return possible
