"""The driver's settings: which node is asked, for how long, and when a second one is asked as well.

There are five profiles. PLAIN, for reads and stamped writes: when a node has not answered within HEDGE_S, a second one
is asked too (speculative execution), so that a paused node costs half a second and not a timeout. DECIDE, for
conditional writes: sent once, serial within the data centre (LOCAL_SERIAL), because the other one may be lost just when
homes must move; `homes` has an epoch for the case that both decide during a partition. MESSAGES, for the writes of
sends and deletes: like PLAIN or, with `is_each`, acknowledged by a quorum in every data centre (EACH_QUORUM), so that
no data centre misses any when the other is lost; while one is unreachable, such writes are refused. CATALOGUE, for the
conditional writes of queues: like DECIDE, but serial across the data centres (SERIAL), since a name that is created in
both at once would be two queues; while too few replicas are alive, DECIDE is used instead, unless `is_each`. REPLICAS,
for reads of what a minority of the replicas may have: answered by all of them, or not at all.

A silent node is sent a heartbeat after HEARTBEAT_S, and counts as down when it does not answer within as long again;
the driver's default of 30 s is too long. Until then, each request to it holds one of the connection's 32,768 stream ids
even if a second node has answered, and a request that finds none free blocks its thread: our loop.

TCP_NODELAY, which the driver does not set: otherwise a request may wait up to 40 ms for the server's delayed ACK of the
previous one.

Protocol version 4: it takes a fifth less client CPU than 5, whose frames repeat TCP's checksums.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.connection import Connection
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    NoSpeculativeExecutionPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.query import dict_factory, tuple_factory

from cqs.store.cassandra.options import Options

PLAIN = EXEC_PROFILE_DEFAULT
DECIDE = "decide"
MESSAGES = "messages"
CATALOGUE = "catalogue"
REPLICAS = "replicas"
_ALL = "all"
HEDGE_S = 0.5
PROTOCOL_VERSION = 4
RECONNECT_S_MIN, RECONNECT_S_MAX = 0.5, 4.0
HEARTBEAT_S = 5.0
WAITING_MAX = 8_000
"""Maximum number of outstanding requests. A connection has 32,768 streams, of which abandoned requests may hold three
quarters; when none is free, the driver waits for one, up to 2 s, in the event loop."""


def make_cluster(
    options: Options, connections: type[Connection] | None = None, *, reaches_all: bool = False
) -> Cluster:
    """The driver's cluster, not yet connected. `connections`: the class that serves its sockets; by default the
    driver's own thread. `reaches_all`: connects to every node, including those of other data centres that no profile
    uses."""
    connect_s = options.connect_ms / 1_000
    every = {_ALL: ExecutionProfile(load_balancing_policy=RoundRobinPolicy())} if reaches_all else {}
    return Cluster(
        connection_class=connections,
        contact_points=list(options.hosts),
        port=options.port,
        protocol_version=PROTOCOL_VERSION,
        auth_provider=PlainTextAuthProvider(options.user, options.password) if options.user else None,
        ssl_context=options.tls,
        connect_timeout=connect_s,
        control_connection_timeout=connect_s,
        sockopts=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        idle_heartbeat_interval=HEARTBEAT_S,
        idle_heartbeat_timeout=HEARTBEAT_S,
        reconnection_policy=ExponentialReconnectionPolicy(RECONNECT_S_MIN, RECONNECT_S_MAX, None),
        monitor_reporting_enabled=False,
        execution_profiles={
            PLAIN: _profile(options),
            DECIDE: _profile(options, is_decision=True),
            MESSAGES: _profile(options, is_each=options.is_each),
            CATALOGUE: _profile(options, is_decision=True, is_each=options.is_each, is_everywhere=True),
            REPLICAS: _profile(options, is_all=True),
            **every,
        },
    )


@contextmanager
def quiet_driver() -> Iterator[None]:
    """Silences the driver's log: its failures are raised, and reported by the caller."""
    log = logging.getLogger("cassandra")
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(logging.NOTSET)


def _profile(
    options: Options,
    *,
    is_decision: bool = False,
    is_each: bool = False,
    is_everywhere: bool = False,
    is_all: bool = False,
) -> ExecutionProfile:
    quorum = ConsistencyLevel.EACH_QUORUM if is_each else ConsistencyLevel.LOCAL_QUORUM
    return ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy(options.datacenter)),
        retry_policy=FallthroughRetryPolicy(),
        consistency_level=ConsistencyLevel.ALL if is_all else quorum,
        serial_consistency_level=ConsistencyLevel.SERIAL if is_everywhere else ConsistencyLevel.LOCAL_SERIAL,
        request_timeout=options.request_ms / 1_000,
        row_factory=dict_factory if is_decision else tuple_factory,
        speculative_execution_policy=(
            NoSpeculativeExecutionPolicy() if is_decision else ConstantSpeculativeExecutionPolicy(HEDGE_S, 1)
        ),
    )
