"""A whole cluster on loopback: a Cassandra ring, Redis servers and API nodes, in one data centre or several.

build/cassandra/run-…/127.0.0.1/    Cassandra      each API node uses the Redis servers and the Cassandra nodes
                      redis-…/      Redis          of its data centre; messages are copied to min(3, nodes)
                      api-…/        API node       nodes of each
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from cqs.errors import CqsError
from cqs.store.cassandra import Options, schema
from deploy.cluster.api_node import ApiNode
from deploy.cluster.ports import free_ports
from deploy.cluster.redis_process import RedisProcess
from deploy.cluster.ring import Node, Ring, Tuning
from deploy.cluster.started import Started

REPLICAS_MAX = 3
SCHEMA_S = 30
HEAP = "512m"


@dataclass(frozen=True)
class Share:
    """How many of each a data centre has."""

    cassandra: int
    redis: int
    api: int


ONE_DATACENTER = {"dc1": Share(cassandra=3, redis=2, api=2)}
TWO_DATACENTERS = {"dc1": Share(cassandra=1, redis=1, api=1), "dc2": Share(cassandra=1, redis=1, api=1)}


class Cluster(Started):
    """Everything runs from `start` to `stop`; use it in a `with` statement. In between, single parts may be stopped,
    killed, paused and started."""

    def __init__(self, shares: Mapping[str, Share] | None = None, tuning: Tuning | None = None) -> None:
        self.shares = dict(shares or ONE_DATACENTER)
        homes = [name for name, share in self.shares.items() for _ in range(share.cassandra)]
        self.ring = Ring(homes, tuning or Tuning(heap_min=HEAP, heap_max=HEAP))
        self.redis: dict[str, list[RedisProcess]] = {name: [] for name in self.shares}
        self.api: dict[str, list[ApiNode]] = {name: [] for name in self.shares}
        ports = iter(free_ports(["127.0.0.1"], sum(share.redis + share.api for share in self.shares.values())))
        for name, share in self.shares.items():
            for number in range(1, share.redis + 1):
                folder = self.ring.folder / f"redis-{name}-{number}"
                folder.mkdir()
                self.redis[name].append(RedisProcess(folder=folder, port=next(ports)))
            for number in range(1, share.api + 1):
                place = self.ring.folder / f"api-{name}-{number}"
                self.api[name].append(ApiNode(place.name, place, next(ports), self.arguments(name)))

    @property
    def apis(self) -> list[ApiNode]:
        return [node for nodes in self.api.values() for node in nodes]

    @property
    def redises(self) -> list[RedisProcess]:
        return [process for processes in self.redis.values() for process in processes]

    def cassandras(self, datacenter: str) -> list[Node]:
        return [node for node in self.ring.nodes if node.datacenter == datacenter]

    def arguments(self, datacenter: str) -> list[str]:
        """The `cqs serve` arguments that name a data centre's servers."""
        words = [word for redis in self.redis[datacenter] for word in ("--redis", redis.url)]
        words += [word for node in self.cassandras(datacenter) for word in ("--cassandra", node.address)]
        return [*words, "--cassandra-port", str(self.ring.port), "--cassandra-datacenter", datacenter]

    def start(self) -> None:
        """Returns when every API node is ready. Raises CassandraFailed, ApiFailed, CqsError."""
        for redis in self.redises:
            redis.start()
        self.ring.start()
        self._apply_schema()
        for node in self.apis:
            node.launch()
        for node in self.apis:
            node.wait()

    def stop(self) -> None:
        """Stops API nodes gracefully and kills the others, because their data is deleted too. Idempotent."""
        for node in self.apis:
            node.ask_to_stop()
        for node in self.apis:
            node.stop()
        for redis in self.redises:
            redis.stop()
        self.ring.stop()

    def _apply_schema(self) -> None:
        """Retries until the nodes see enough of each other."""
        options = Options(hosts=tuple(self.ring.contact_points), port=self.ring.port)
        replicas = {name: min(REPLICAS_MAX, share.cassandra) for name, share in self.shares.items()}
        deadline = time.monotonic() + SCHEMA_S
        while True:
            try:
                asyncio.run(schema.apply(options, replicas))
                return
            except CqsError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)
