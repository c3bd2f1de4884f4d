"""`make audit-cluster`: starts a cluster on this machine (a Cassandra node, a Redis, API nodes) and audits it.

    python -m benchmarks.cluster_audit [arguments of spark_jobs.proof]

To use existing services instead, run `python -m spark_jobs.proof` with --cassandra HOST:PORT and --redis URL.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from deploy.cluster.jars import CassandraFailed
from deploy.cluster.redis_process import RedisProcess
from deploy.cluster.ring import Ring
from spark_jobs import proof
from spark_jobs.errors import JobError
from spark_jobs.failures import refused
from spark_jobs.servers import end_on_sigterm

NODES = 2


def main(given: Sequence[str] | None = None) -> int:
    """Runs the command. Returns the exit code of the audit."""
    arguments = sys.argv[1:] if given is None else list(given)
    try:
        proof.check([*_on("127.0.0.1:9042", "redis://127.0.0.1:6379"), *arguments])
        sys.stderr.write("audit: starting Cassandra and Redis\n")
        with Ring() as ring, RedisProcess() as redis:
            return proof.main([*_on(f"{ring.contact_points[0]}:{ring.port}", redis.url), *arguments])
    except (CassandraFailed, JobError) as error:
        return refused(str(error))


def _on(cassandra: str, redis: str) -> list[str]:
    return ["--cassandra", cassandra, "--redis", redis, "--nodes", str(NODES)]


if __name__ == "__main__":
    end_on_sigterm()
    sys.exit(main())
