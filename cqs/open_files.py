"""The limit on open files of this process. Each connection uses one."""

from __future__ import annotations

import contextlib
import resource

import structlog

from cqs.errors import CannotStart
from cqs.plural import counted

FILES_MIN = 64
"""With fewer, a server fails somewhere: at its database, its writer process or its first connection."""
BESIDE = 100
"""Open files other than client connections: the database, logs, Redis, Cassandra."""
_log = structlog.get_logger("cqs.open_files")


def raise_limit() -> None:
    """Raises the soft limit, usually 1,024 and so less than `connections_max`, to the hard limit. Raises CannotStart if
    a server can't live with that."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if is_too_low(hard):
        raise CannotStart(
            f"this process may open {counted(hard, 'file')}, and a server needs {FILES_MIN}: raise the limit "
            "(ulimit -Hn, LimitNOFILE= in systemd)"
        )


def is_too_low(hard: int) -> bool:
    """Whether no server can start with this hard limit."""
    return hard != resource.RLIM_INFINITY and hard < FILES_MIN


def connections_within(wanted: int) -> int:
    """The wanted number of connections, or what the limit allows; beyond that, accept would fail for everybody."""
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
