"""The connection to a Cassandra cluster: found, asked with plain CQL at start-up, and closed. Here the driver works in
threads of its own; `session` sends prepared requests from the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from cassandra.cluster import Cluster
from cassandra.cluster import Session as DriverSession

from cqs.errors import StoreUnavailable
from cqs.store.cassandra.cluster import make_cluster, quiet_driver
from cqs.store.cassandra.failures import reason_of_node, told
from cqs.store.cassandra.hosts import hosts_of
from cqs.store.cassandra.options import Options
from cqs.store.cassandra.reactor import LoopConnection, connections_of
from cqs.store.cassandra.statements import Kind
from cqs.store.group_commit import CLOSED
from cqs.store.report import StoreHost

PER_NODE_S = 10.0


class Link:
    """Belongs to one event loop. Calls raise StoreUnavailable, never a driver's error. `reaches_all`: connects to the
    nodes of all data centres, and `connect` waits for each of them."""

    def __init__(self, options: Options, *, reaches_all: bool = False) -> None:
        self._options = options
        self._reaches_all = reaches_all
        self._place = options.place
        self._cluster: Cluster | None = None
        self._session: DriverSession | None = None
        self._loop: asyncio.AbstractEventLoop
        self._reactor: type[LoopConnection]

    @property
    def datacenter(self) -> str:
        """The data centre whose replicas answer."""
        assert self._cluster is not None
        policy = self._cluster.profile_manager.default.load_balancing_policy
        return self._options.datacenter or str(policy._child_policy.local_dc)

    async def connect(self) -> None:
        """Finds the cluster, without using a keyspace yet. Raises StoreUnavailable within about `connect_ms` a host."""
        self._loop = asyncio.get_running_loop()
        self._reactor = connections_of(self._loop)
        with quiet_driver():
            try:
                self._cluster = make_cluster(self._options, self._reactor, reaches_all=self._reaches_all)
                session: DriverSession = await asyncio.to_thread(self._cluster.connect, None, self._reaches_all)
            except (Exception, asyncio.CancelledError) as error:
                await self.close()
                if isinstance(error, asyncio.CancelledError):
                    raise
                raise told(error, Kind.READ, self._options.place_asked) from error
        session.default_fetch_size = None
        self._session = session

    async def ask(self, cql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Runs CQL that is not prepared: for schema and start-up only."""
        session = self._opened()
        try:
            return list(await asyncio.to_thread(session.execute, cql, tuple(values) or None, 60.0))
        except Exception as error:
            raise told(error, Kind.READ, self._place) from error

    async def ask_each(self, cql: str) -> dict[str, list[tuple[Any, ...]] | Exception]:
        """`ask` of each known node, by address; for a node that did not answer, the reason instead. Only for a session
        that reaches all: any other may have no connection to some nodes."""
        session = self._opened()
        assert self._cluster is not None and self._reaches_all

        async def one(host: Any) -> list[tuple[Any, ...]] | Exception:
            try:
                return list(await asyncio.to_thread(session.execute, cql, None, PER_NODE_S, host=host))
            except Exception as error:
                return StoreUnavailable(reason_of_node(error))

        hosts = list(self._cluster.metadata.all_hosts())
        answers = await asyncio.gather(*(one(host) for host in hosts))
        return {str(host.address): answer for host, answer in zip(hosts, answers, strict=True)}

    def hosts(self) -> tuple[StoreHost, ...]:
        """As the driver knows them now; queries no host. Empty when closed."""
        return hosts_of(self._cluster) if self._cluster is not None else ()

    @property
    def is_half_down(self) -> bool:
        """Whether half of the hosts of this data centre or more are down, as the driver knows them now."""
        here = [host for host in self.hosts() if host.datacenter == self.datacenter]
        return 2 * sum(host.is_up is False for host in here) >= len(here) > 0

    async def close(self) -> None:
        """Idempotent."""
        cluster, self._cluster, self._session = self._cluster, None, None
        if cluster is not None:
            await asyncio.to_thread(cluster.shutdown)

    def _opened(self) -> DriverSession:
        if self._session is None:
            raise StoreUnavailable(CLOSED)
        return self._session
