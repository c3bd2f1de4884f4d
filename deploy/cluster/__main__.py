"""`make cluster`: a cluster in the foreground, until SIGTERM or Ctrl-C.

Standard output has one line per server, then `ready`. Standard error says which data centre they belong to, if there
are two, and how to use the cluster; it also reports later problems.
"""

from __future__ import annotations

import signal
import sys
import time
from contextlib import ExitStack
from types import FrameType

from cqs.errors import CqsError
from deploy.cluster import jars
from deploy.cluster.api_node import ApiFailed
from deploy.cluster.cluster import ONE_DATACENTER, TWO_DATACENTERS, Cluster
from deploy.cluster.jars import CassandraFailed
from deploy.cluster.ports import STOP_SIGNALS, signals_held

_LOOK_S = 1.0
_AGAIN_S = 0.05
_USAGE = "usage: python -m deploy.cluster [--two-datacenters]"


class _Asked(BaseException):
    """Raised by a stop signal."""


def main(arguments: list[str]) -> int:
    """Returns the exit code: 0 when stopped by a signal, 1 when something did not start, 2 for wrong usage."""
    if arguments not in ([], ["--two-datacenters"]):
        print(_USAGE, file=sys.stderr)
        return 2
    listen()
    try:
        jars.fetch()
        with ExitStack() as stack:
            with signals_held():
                cluster = Cluster(TWO_DATACENTERS if arguments else ONE_DATACENTER)
                stack.callback(cluster.stop)
            cluster.start()
            _tell(cluster)
            _watch(cluster)
    except _Asked:
        return 0
    except (CassandraFailed, ApiFailed, CqsError, AssertionError, OSError) as error:
        print(f"the cluster did not start: {error}", file=sys.stderr)
        return 1
    return 0


def listen() -> None:
    """From now on a stop signal raises. Where Python ignores what is raised, in a finalizer or a callback of an import,
    it is raised again a moment later: there is no second signal."""
    for number in STOP_SIGNALS:
        signal.signal(number, _hear)
    signal.signal(signal.SIGALRM, _hear)
    sys.unraisablehook = _ignored


def _ignored(lost: sys.UnraisableHookArgs) -> None:
    if lost.exc_type is _Asked:
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
    else:
        sys.__unraisablehook__(lost)


def _hear(number: int, frame: FrameType | None) -> None:
    """The first signal ends the cluster; `make` and a terminal may send more, which are ignored."""
    for each in STOP_SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise _Asked


def _tell(cluster: Cluster) -> None:
    lines = [f"api {node.endpoint} pid {node.pid}" for node in cluster.apis]
    lines += [f"redis 127.0.0.1:{redis.port} pid {redis.pid}" for redis in cluster.redises]
    lines += [f"cassandra {node.address}:{node.port} pid {node.pid}" for node in cluster.ring.nodes]
    print("\n".join(lines), flush=True)
    if len(cluster.shares) > 1:
        _tell_where(cluster)
    first = cluster.apis[0].endpoint
    hint = f"use it: export AWS_ENDPOINT_URL_SQS={first}    console: {first}/ADMIN    stop it: Ctrl-C"
    print(hint, file=sys.stderr, flush=True)
    print("ready", flush=True)


def _tell_where(cluster: Cluster) -> None:
    """One line per data centre on standard error, so that programs that parse the servers' lines are not affected."""
    for name in cluster.shares:
        parts = [node.endpoint for node in cluster.api[name]]
        parts += [f"redis {redis.port}" for redis in cluster.redis[name]]
        parts += [f"cassandra {node.address}" for node in cluster.cassandras(name)]
        print(f"{name}: {', '.join(parts)}", file=sys.stderr, flush=True)


def _watch(cluster: Cluster) -> None:
    """Runs forever: reports each API node that ends, once. Ended nodes are not restarted."""
    ended: set[str] = set()
    while True:
        time.sleep(_LOOK_S)
        for node in cluster.apis:
            if node.name not in ended and node.has_ended():
                ended.add(node.name)
                print(f"{node.name} ({node.endpoint}) ended: {node.end_of_log()}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
