"""A CQS server on Redis and Cassandra as one program, for the benchmarks. It starts a Cassandra ring of one node,
creates the schema, serves with a private Redis, and stops everything on SIGTERM. Its cost includes that of its child
processes.

    python -m benchmarks.clustered PORT [flags of cqs serve]
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys

from benchmarks.running import stop_on_signals
from cqs.store.cassandra import Options, schema
from deploy.cluster.ring import Ring

_KEYSPACE = "bench"
_STOP_WITHIN_S = 15


def main(port: str, *flags: str) -> int:
    """Runs the server and returns its exit code."""
    stop_on_signals()
    with Ring() as ring:
        hosts = tuple(ring.contact_points)
        options = Options(hosts=hosts, port=ring.port, keyspace=_KEYSPACE)
        asyncio.run(schema.apply(options, {"dc1": 1}))
        command = [
            *(sys.executable, "-m", "cqs", "serve", "--port", port, "--log-level", "warning", "--redis", "spawn")
        ]
        command += ["--cassandra", ",".join(hosts), "--cassandra-port", str(ring.port)]
        command += ["--cassandra-keyspace", _KEYSPACE, *flags]
        server = subprocess.Popen(command)
        try:
            return server.wait()
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(_STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                server.kill()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
