"""The composition root: builds the parts from the settings, starts them in order and stops them in reverse order.

    bind the port ─ open the store (locks the data) ─ users ─ fill the cache ─ declared queues ─ accept ─ "serving"
                                                                                           │ SIGTERM, Ctrl-C
    exit 0 ─ close the store ─ end the loops ─ finish accepted requests ─ answer the pollers ─ refuse new ones

`cqs.backends` chooses the backends. The background loops are tasks of one group: when one of them dies of a bug, the
server exits instead of running without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import socket
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import structlog
import uvloop

from cqs import backends, boot, doors, heap, logs, observers, open_files, parts
from cqs.api.app import App
from cqs.api.siblings import Siblings
from cqs.banner import announce
from cqs.clock import SystemClock
from cqs.config import Config, Loaded
from cqs.errors import ConfigError, CqsError
from cqs.listen import open_sockets
from cqs.metrics.declarations import (
    CACHE_TROUBLE,
    CONNECTIONS,
    CROWDED_OUT,
    CUT_OFF,
    REQUEST_BYTES,
    STORE_LOST,
    STORE_TROUBLE,
    UNREAD_BYTES,
)
from cqs.people import People, open_people
from cqs.service import drain, heartbeat, marking, move_tasks, repair, residency, revisibility, statistics, sweep
from cqs.service.engine import Engine
from cqs.slot import Slot
from cqs.stop import Stop
from cqs.surroundings import Surroundings
from cqs.tls import Certificate, certificate_of
from cqs.workers import Workers, check_workers

if TYPE_CHECKING:
    from cqs.tracing import Tracing

LOOPS = (heartbeat.run, marking.run, revisibility.run, repair.run, move_tasks.run, statistics.run, sweep.run)
"""The background loops; they run for ever."""
_log = structlog.get_logger("cqs.server")


def run(loaded: Loaded[Config]) -> int:
    """Serves until told to stop; returns the exit code. Raises ConfigError, CannotStart, StoreUnavailable."""
    config = loaded.config
    logging = config.logging
    logs.set_up(logging.log_level, logging.log_format)
    open_files.raise_limit()
    certificate = certificate_of(config.listening)
    if certificate is not None:
        signal.signal(signal.SIGHUP, lambda number, frame: _reload(certificate))
    sockets = open_sockets(config.listening, is_checked=config.security.auth != "open")
    try:
        if config.clustering.workers > 1:
            return _run_workers(loaded, sockets, certificate)
        return _run_one(loaded, sockets, certificate)
    finally:
        for opened in sockets:
            opened.close()


def _run_one(
    loaded: Loaded[Config],
    sockets: Sequence[socket.socket],
    certificate: Certificate | None,
    slot: Slot | None = None,
) -> int:
    """Serves in this process, alone or as one of several workers."""
    if slot is not None:
        loaded = slot.settings(loaded)
        logs.set_up(loaded.config.logging.log_level, loaded.config.logging.log_format, worker=slot.number)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(loaded, sockets, certificate, slot))


def _run_workers(loaded: Loaded[Config], sockets: Sequence[socket.socket], certificate: Certificate | None) -> int:
    """Serves in several processes. A private Redis belongs to this process, and all workers use it."""
    config = loaded.config
    check_workers(config)
    spawned = backends.private_redis_of(config)
    shared = backends.with_places(loaded, spawned)
    workers = Workers(
        lambda slot: _run_one(shared, sockets, certificate, slot),
        config.clustering.workers,
        config.bounds.stop_timeout_ms / 1_000,
        lambda start: announce(start, config.logging.log_format, workers=config.clustering.workers),
        reread=partial(_reload, certificate) if certificate is not None else None,
        beside=spawned.look_after if spawned is not None else None,
    )
    try:
        code = workers.run()
    finally:
        if spawned is not None:
            spawned.stop()
    _log.info("stopped")
    return code


@dataclass(frozen=True, slots=True)
class _Built:
    """All parts of a server, once its data is open."""

    loaded: Loaded[Config]
    sockets: Sequence[socket.socket]
    certificate: Certificate | None
    engine: Engine
    people: People
    mounts: doors.Mounts
    tracing: Tracing | None
    slot: Slot | None
    surroundings: Surroundings

    def loops(self) -> list[Coroutine[object, object, None]]:
        """The background loops."""
        looks = [] if self.loaded.config.security.auth == "open" else [self.people.credentials.run()]
        return [*(loop(self.engine) for loop in LOOPS), *looks, self.surroundings.run()]


async def _serve(
    loaded: Loaded[Config], sockets: Sequence[socket.socket], certificate: Certificate | None, slot: Slot | None
) -> int:
    stop = Stop(None if certificate is None else partial(_reload, certificate))
    clock, rng = SystemClock(), random.Random()
    config = loaded.config
    store = backends.store_of(config, clock)
    journal = observers.journal_of(config, clock)
    tracing = observers.tracing_of(config)
    cache = backends.CacheServers(config, clock, rng)
    siblings = None if slot is None else Siblings(slot.folder, slot.number)
    try:
        await store.open()
        await cache.start()
        await observers.begin(journal, config, clock, rng)
        people = await open_people(config, store, clock)
        lately = doors.lately_of(config, clock)
        engine = await parts.engine_of(config, store, cache, clock, rng, journal, lately, tracing, siblings)
        engine.metrics.watch(CACHE_TROUBLE, cache.in_trouble)
        engine.metrics.watch(STORE_LOST, lambda: len(engine.metrics.store_report().lost))
        engine.metrics.watch(STORE_TROUBLE, lambda: int(bool(engine.cluster.membership.store_problem)))
        is_cut = await stop.cuts(_fill(engine, loaded))
        around = Surroundings(config, store, cache, engine.cluster.membership, journal)
        mounts = await doors.mounts_of(engine, store, people.accounts, config, lately, cache, lambda: around.troubles)
        if siblings is not None:
            await siblings.start()
            await drain.join(engine)
        await around.look()
        built = _Built(loaded, sockets, certificate, engine, people, mounts, tracing, slot, around)
        code = 0 if is_cut else await _run(built, stop)
        await engine.background.drain()
    finally:
        if siblings is not None:
            siblings.close()
        if journal is not None:
            await journal.close()
        await store.close()
        await cache.close()
        if tracing is not None:
            await tracing.close()
    _log.info("stopped")
    return code


async def _run(built: _Built, stop: Stop) -> int:
    """Serves while the loops run; returns 0, or 1 if a loop died."""
    try:
        async with asyncio.TaskGroup() as group:
            loops = [group.create_task(loop) for loop in built.loops()]
            await _accept(built, stop)
            for loop in loops:
                loop.cancel()
    except ExceptionGroup as died:
        for error in died.exceptions:
            _log.critical("loop_died", exc_info=error)
        return 1
    return 0


async def _accept(built: _Built, stop: Stop) -> None:
    """Serves until told to stop, then finishes accepted requests."""
    engine, config = built.engine, built.loaded.config
    app = App(
        parts.dispatcher_of(engine, built.people.credentials, config, built.tracing),
        why_not_ready=lambda: _why_not_ready(built, stop),
        troubles=lambda: built.surroundings.troubles,
        mounts=built.mounts,
        bounds=parts.bounds_of(config),
        facts={"auth": config.security.auth},
        front=doors.console_url(config, "").removeprefix("/"),
    )
    engine.metrics.watch(CONNECTIONS, lambda: len(app.connections))
    engine.metrics.watch(REQUEST_BYTES, lambda: app.room.held)
    engine.metrics.watch(CROWDED_OUT, lambda: app.room.crowded_out)
    engine.metrics.watch(UNREAD_BYTES, lambda: app.connections.unread.held)
    engine.metrics.watch(CUT_OFF, lambda: app.connections.unread.count_cut_off)
    heap.set_aside()
    tls = None if built.certificate is None else built.certificate.context
    stop_s_max = config.bounds.stop_timeout_ms / 1_000
    await app.start(built.sockets, stop_s_max=stop_s_max, tls=tls, is_shared=built.slot is not None)
    try:
        start = doors.start_of(engine, config, built.sockets[0].getsockname()[1])
        if built.slot is None:
            announce(start, config.logging.log_format)
        else:
            built.slot.tell(start)
        await stop.requested.wait()
    finally:
        _log.info("stopping", polls=len(engine.waiters), connections=len(app.connections))
        engine.waiters.end_all()
        await app.stop()
        with contextlib.suppress(CqsError):
            await heartbeat.leave(engine)


def _why_not_ready(built: _Built, stop: Stop) -> str:
    if stop.requested.is_set():
        return "stopping"
    return "draining" if built.engine.waiters.is_draining else built.surroundings.fatal


def _reload(certificate: Certificate) -> None:
    """On SIGHUP. If the files are unusable, logs that, and the server keeps the current certificate."""
    try:
        certificate.reload()
    except ConfigError as error:
        _log.error("certificate_not_reloaded", reason=str(error))
    else:
        _log.info("certificate_reloaded")


async def _fill(engine: Engine, loaded: Loaded[Config]) -> None:
    await residency.open_all(engine)
    await boot.declare(engine, loaded.queues)
