"""Builds the parts of a server from the settings. Backends are chosen in `cqs.backends`."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cqs import backends, observers
from cqs.api.authenticator import Mode, access_of
from cqs.api.dispatch import Dispatcher
from cqs.api.http.bounds import Bounds
from cqs.api.origins import Origins, Unsigned
from cqs.api.rates import Rates
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.backends import CacheServers
from cqs.cache.interface import QueueCache
from cqs.clock import Clock
from cqs.config import Config
from cqs.events import Witness
from cqs.ids import Addresses
from cqs.journal.journal import Journal
from cqs.metrics.declarations import JOURNAL_MISSING
from cqs.metrics.node import NodeMetrics
from cqs.metrics.timed import timed
from cqs.open_files import connections_within
from cqs.receipt import Receipts
from cqs.service.cluster import Cluster
from cqs.service.credentials import Credentials
from cqs.service.engine import Engine, Tuning
from cqs.service.fellows import Fellows, NoFellows
from cqs.service.homed_cache import HomedCache
from cqs.service.long_poll import Waiters
from cqs.service.registry import Registry
from cqs.service.sleepers import NodeSleepers
from cqs.store.interface import Store
from cqs.witnesses import Witnesses

if TYPE_CHECKING:
    from cqs.tracing import Tracing


async def engine_of(
    config: Config,
    store: Store,
    servers: CacheServers,
    clock: Clock,
    rng: random.Random,
    journal: Journal | None,
    witnesses: Sequence[Witness] = (),
    tracing: Tracing | None = None,
    fellows: Fellows | None = None,
) -> Engine:
    """The engine over an open store and cache; calls to both are timed. `witnesses` are added to those of metrics and
    journal. With `tracing`, calls to both are also spans."""
    registry, waiters = Registry(), Waiters(config.bounds.polls_max)
    servers.bells.attach(NodeSleepers(registry, waiters))
    cluster = backends.cluster_of(config, store, servers, clock, rng)
    metrics = _metrics_of(config, clock, store, journal, cluster)
    cache = servers.cache
    if tracing is not None:
        cache, store = tracing.cache(cache), tracing.store(store)
        witnesses = [*witnesses, tracing.witness]
    cache = timed(cache, QueueCache, metrics.cache)
    return Engine(
        clock=clock,
        rng=rng,
        addresses=Addresses(clock, rng),
        cache=cache if cluster.homes is None else HomedCache(cache, cluster.homes),
        store=timed(store, Store, metrics.store),
        bells=servers.bells,
        registry=registry,
        waiters=waiters,
        receipts=Receipts(await store.secret()),
        witness=_all_of([metrics.witness, *([journal] if journal is not None else []), *witnesses]),
        metrics=metrics,
        cluster=cluster,
        fellows=fellows or NoFellows(),
        tuning=_tuning_of(config),
    )


def _metrics_of(config: Config, clock: Clock, store: Store, journal: Journal | None, cluster: Cluster) -> NodeMetrics:
    metrics = observers.metrics_of(config, clock, store)
    if journal is not None:
        metrics.watch(JOURNAL_MISSING, lambda: journal.dropped)
    metrics.is_leader = lambda: cluster.leadership.is_held
    metrics.store_report = functools.partial(backends.store_report, config, store)
    return metrics


def _tuning_of(config: Config) -> Tuning:
    behaviour = config.behaviour
    return Tuning(
        region=behaviour.region,
        is_purge_wait_on=behaviour.is_purge_wait,
        is_recreate_wait_on=behaviour.is_recreate_wait,
        is_leases_on=config.storage.is_leases,
        is_hint_on=not behaviour.is_strict,
    )


def _all_of(witnesses: list[Witness]) -> Witness:
    return witnesses[0] if len(witnesses) == 1 else Witnesses(*witnesses)


def origins_of(config: Config) -> Origins:
    """The web origins that may call the server."""
    listening, unsigned = config.listening, Unsigned.NOWHERE
    if config.security.auth == "open":
        unsigned = Unsigned.ANYWHERE if listening.is_open_to_network else Unsigned.LOOPBACK
    return Origins(listening.origins, unsigned)


def dispatcher_of(
    engine: Engine, credentials: Credentials, config: Config, tracing: Tracing | None = None
) -> Dispatcher:
    """The API, in the configured mode."""
    listening, security, bounds = config.listening, config.security, config.bounds
    access = access_of(
        Mode(security.auth),
        credentials,
        engine.clock,
        default_account=config.behaviour.account,
        proxies=security.trusted_proxies,
        is_verbose=config.logging.log_level == "debug",
    )
    make: Callable[..., Dispatcher] = Dispatcher if tracing is None else tracing.dispatcher
    return make(
        engine,
        access,
        RequestIds(engine.rng),
        origins=origins_of(config),
        base_urls=BaseUrls(
            listening.public_url,
            is_forwarded_trusted=listening.is_forwarded_trusted,
            scheme="https" if listening.tls_cert else "http",
        ),
        catch_up=credentials.catch_up,
        rates=Rates(engine.clock, bounds.request_rate, bounds.request_burst) if bounds.request_rate else None,
        is_logging_requests=config.logging.log_level == "debug",
        is_strict=config.behaviour.is_strict,
    )


def bounds_of(config: Config) -> Bounds:
    """The limits per client, within what the machine allows."""
    bounds = config.bounds
    return Bounds(
        body_bytes_max=bounds.body_max,
        headers_max=bounds.header_fields_max,
        header_bytes_max=bounds.header_max,
        header_s_max=bounds.header_timeout_ms / 1_000,
        body_s_max=bounds.body_timeout_ms / 1_000,
        idle_s_max=bounds.keep_alive_ms / 1_000,
        requests_bytes_max=max(bounds.request_memory, bounds.body_max),
        answers_bytes_max=bounds.answer_memory,
        unread_s_max=bounds.body_timeout_ms / 1_000,
        connections_max=connections_within(bounds.connections_max),
        connections_per_address_max=bounds.connections_per_address_max,
    )
