"""The parts of a server, each built from the settings. The only place that names concrete backends."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from cqs import observers
from cqs.api.access import OpenAccess
from cqs.api.dispatch import Dispatcher
from cqs.api.http.bounds import Bounds
from cqs.api.origins import Origins
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.cache.interface import QueueCache
from cqs.cache.memory import MemoryCache
from cqs.clock import Clock
from cqs.config import Config
from cqs.config.settings import Storage
from cqs.events import Witness
from cqs.ids import Addresses
from cqs.journal import Journal
from cqs.metrics.timed import timed
from cqs.receipt import Receipts
from cqs.service.engine import Engine, Tuning
from cqs.service.long_poll import Waiters
from cqs.service.registry import Registry
from cqs.store.interface import Store
from cqs.store.memory import MemoryStore
from cqs.store.sqlite import SqliteStore
from cqs.witnesses import Witnesses


def store_of(storage: Storage, clock: Clock) -> Store:
    """The store that was chosen, not opened yet."""
    return MemoryStore(clock) if storage.is_in_memory else SqliteStore(folder_of(storage), clock)


def folder_of(storage: Storage) -> Path:
    """Where the data lies."""
    return Path(storage.data_dir).expanduser().absolute()


async def engine_of(
    config: Config, store: Store, clock: Clock, journal: Journal | None, witnesses: Sequence[Witness] = ()
) -> Engine:
    """The parts around an open store; calls of store and cache are timed. `witnesses` hear beside metrics and journal."""
    metrics = observers.metrics_of(config, clock, store, folder_of(config.storage))
    rng = random.Random()
    behaviour = config.behaviour
    return Engine(
        clock=clock,
        rng=rng,
        addresses=Addresses(clock, rng),
        cache=timed(MemoryCache(clock, rng, config.storage.body_memory), QueueCache, metrics.cache),
        store=timed(store, Store, metrics.store),
        registry=Registry(),
        waiters=Waiters(),
        receipts=Receipts(await store.secret()),
        witness=_all_of([metrics.witness, *([journal] if journal is not None else []), *witnesses]),
        metrics=metrics,
        tuning=Tuning(
            region=behaviour.region,
            is_purge_wait_on=behaviour.is_purge_wait,
            is_recreate_wait_on=behaviour.is_recreate_wait,
        ),
    )


def _all_of(witnesses: list[Witness]) -> Witness:
    return witnesses[0] if len(witnesses) == 1 else Witnesses(*witnesses)


def dispatcher_of(engine: Engine, config: Config) -> Dispatcher:
    """The API in open mode."""
    listening = config.listening
    return Dispatcher(
        engine,
        OpenAccess(config.behaviour.account),
        RequestIds(engine.rng),
        origins=Origins(listening.origins),
        base_urls=BaseUrls(listening.public_url, is_forwarded_trusted=listening.is_forwarded_trusted),
        is_logging_requests=config.logging.log_level == "debug",
        is_strict=config.behaviour.is_strict,
    )


def bounds_of(config: Config) -> Bounds:
    """What a client may take."""
    bounds = config.bounds
    return Bounds(
        header_s_max=bounds.header_timeout_ms / 1_000,
        body_s_max=bounds.body_timeout_ms / 1_000,
        idle_s_max=bounds.keep_alive_ms / 1_000,
        connections_max=bounds.connections_max,
        connections_per_address_max=bounds.connections_per_address_max,
    )
