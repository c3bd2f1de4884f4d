"""`make cluster`: a cluster in the foreground, until SIGTERM or Ctrl-C.

Standard output has one line for each server, then `ready`. Standard error tells which data centre they are in, if
there are two, how to use the cluster, and what goes wrong later.
"""

from __future__ import annotations

import signal
import sys
import time
from contextlib import ExitStack
from types import FrameType

from cqs.errors import CqsError
from deploy.cluster.api_node import ApiFailed
from deploy.cluster.cluster import ONE_DATACENTER, TWO_DATACENTERS, Cluster
from deploy.cluster.ports import STOP_SIGNALS, signals_held
from deploy.cluster.ring import CassandraFailed, fetch_jars

_LOOK_S = 1.0
_USAGE = "usage: python -m deploy.cluster [--two-datacenters]"


class _Asked(BaseException):
    """Told to stop."""


def main(arguments: list[str]) -> int:
    """The exit code: 0 when told to stop, 1 when something did not start, 2 for wrong usage."""
    if arguments not in ([], ["--two-datacenters"]):
        print(_USAGE, file=sys.stderr)
        return 2
    for number in STOP_SIGNALS:
        signal.signal(number, _hear)
    try:
        fetch_jars()
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


def _hear(number: int, frame: FrameType | None) -> None:
    """The first one ends the cluster; `make` and a terminal may send more, which say the same."""
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
    """A line for each data centre on standard error: programs that read the servers' lines need not know of it."""
    for name in cluster.shares:
        parts = [node.endpoint for node in cluster.api[name]]
        parts += [f"redis {redis.port}" for redis in cluster.redis[name]]
        parts += [f"cassandra {node.address}" for node in cluster.cassandras(name)]
        print(f"{name}: {', '.join(parts)}", file=sys.stderr, flush=True)


def _watch(cluster: Cluster) -> None:
    """For ever: tells of API nodes that ended, each once. They are not started again."""
    ended: set[str] = set()
    while True:
        time.sleep(_LOOK_S)
        for node in cluster.apis:
            if node.name not in ended and node.has_ended():
                ended.add(node.name)
                print(f"{node.name} ({node.endpoint}) ended: {node.end_of_log()}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
