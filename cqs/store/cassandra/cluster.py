"""The driver's settings: which node is asked, how long it may take, and when another one is asked, too.

Three profiles. PLAIN, for reads and stamped writes: a node that has not answered in HEDGE_S gets company from a second
one, so that a paused node costs half a second and not a time-out. DECIDE, for conditional writes: sent once, serial
within the data centre (LOCAL_SERIAL), because the other one may be gone just when homes are to change hands; `homes`
carries an epoch for the case that both decide while they can't see each other. MESSAGES, for what sends and deletes
write: as PLAIN, or, where `is_each` asks for it, answered by a quorum in every data centre (EACH_QUORUM), so that none
of it is missing in one when the other is lost; while one can't be reached it is refused.

A node that hangs is asked whether it lives after HEARTBEAT_S of silence, and is down when it does not say so in as long
again; the driver's own 30 s are too many. Each request to it, though a second node answered, keeps one of the
connection's 32,768 numbers until then, and whoever wants one when none is left waits for it in his thread: our loop.

TCP_NODELAY, which the driver leaves off: a request would wait up to 40 ms for the server's delayed acknowledgement of
the one before.

Protocol version 4: a fifth less of the client's CPU than 5, whose frames have checksums that TCP has already.
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
_ALL = "all"
HEDGE_S = 0.5
PROTOCOL_VERSION = 4
RECONNECT_S_MIN, RECONNECT_S_MAX = 0.5, 4.0
HEARTBEAT_S = 5.0
WAITING_MAX = 8_000
"""Requests under way. A connection has 32,768 streams, three quarters of which requests that were given up may hold;
where none is free the driver waits for one, up to 2 s, in the event loop."""


def make_cluster(
    options: Options, connections: type[Connection] | None = None, *, reaches_all: bool = False
) -> Cluster:
    """The driver's cluster, not yet connected. `connections`: who serves its sockets; the driver's own thread unless it
    is said. `reaches_all`: it connects to every node, also of other data centres, though no profile asks these."""
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
            CATALOGUE: _profile(options, is_decision=True, is_each=options.is_each),
            **every,
        },
    )


@contextmanager
def quiet_driver() -> Iterator[None]:
    """The driver logs nothing meanwhile, for what it fails with is raised, and told by whoever asked."""
    log = logging.getLogger("cassandra")
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(logging.NOTSET)


def _profile(options: Options, *, is_decision: bool = False, is_each: bool = False) -> ExecutionProfile:
    return ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy(options.datacenter)),
        retry_policy=FallthroughRetryPolicy(),
        consistency_level=ConsistencyLevel.EACH_QUORUM if is_each else ConsistencyLevel.LOCAL_QUORUM,
        serial_consistency_level=ConsistencyLevel.SERIAL if is_each else ConsistencyLevel.LOCAL_SERIAL,
        request_timeout=options.request_ms / 1_000,
        row_factory=dict_factory if is_decision else tuple_factory,
        speculative_execution_policy=(
            NoSpeculativeExecutionPolicy() if is_decision else ConstantSpeculativeExecutionPolicy(HEDGE_S, 1)
        ),
    )
