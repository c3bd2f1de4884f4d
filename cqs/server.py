"""The composition root: builds the parts from the settings, starts them in order, and ends them in the reverse one.

    bind the port ─ open the store (locks the data) ─ users ─ fill the cache ─ declared queues ─ accept ─ "serving"
                                                                                           │ SIGTERM, Ctrl-C
    exit 0 ─ close the store ─ end the loops ─ finish what was accepted ─ answer the pollers ─ refuse new ones

Which backends were chosen only `cqs.parts` knows. The loops that run beside the calls are tasks of one group:
when one of them dies of a bug, the server ends rather than limp.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import resource
import signal
import socket
import sys
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
import uvloop

from cqs import backends, boot, doors, logs, observers, parts
from cqs.api.app import App
from cqs.banner import Start
from cqs.clock import SystemClock
from cqs.config import Config, Loaded
from cqs.errors import ConfigError, CqsError
from cqs.listen import endpoint_of, open_sockets
from cqs.metrics.declarations import CONNECTIONS
from cqs.people import People, open_people
from cqs.service import heartbeat, move_tasks, repair, residency, revisibility, statistics
from cqs.service.engine import Engine
from cqs.tls import Certificate, certificate_of

if TYPE_CHECKING:
    from cqs.tracing import Tracing

SAME_SIGNAL_S = 1.0
_LOOPS = (heartbeat.run, revisibility.run, repair.run, move_tasks.run, statistics.run)
_log = structlog.get_logger("cqs.server")


def run(loaded: Loaded[Config]) -> int:
    """Serves until told to stop; the exit code. Raises ConfigError, CannotStart, StoreUnavailable."""
    config = loaded.config
    logging = config.logging
    logs.set_up(logging.log_level, logging.log_format)
    _raise_file_limit()
    certificate = certificate_of(config.listening)
    sockets = open_sockets(config.listening, is_checked=config.security.auth != "open")
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_serve(loaded, sockets, certificate))
    finally:
        for opened in sockets:
            opened.close()


class _Stop:
    """SIGTERM and Ctrl-C: the first asks for an orderly end, a second one ends the process at once.

    `make` passes on a signal that the whole process group got, so the server hears it twice; what comes within
    SAME_SIGNAL_S of the first is therefore the same request."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._requested_s = 0.0
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._hear, number)

    async def cuts(self, work: Coroutine[object, object, None]) -> bool:
        """Does the work, unless told to stop first: then it is cancelled, and the answer is True."""
        task = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self.requested.wait())
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))
            return True
        task.result()
        return False

    def _hear(self, number: int) -> None:
        now_s = self._loop.time()
        if not self.requested.is_set():
            self._requested_s = now_s
            self.requested.set()
        elif now_s - self._requested_s > SAME_SIGNAL_S:
            os._exit(128 + number)


@dataclass(frozen=True, slots=True)
class _Built:
    """All that a server is made of, once its data are open."""

    loaded: Loaded[Config]
    sockets: Sequence[socket.socket]
    certificate: Certificate | None
    engine: Engine
    people: People
    mounts: doors.Mounts
    tracing: Tracing | None

    def loops(self) -> list[Coroutine[object, object, None]]:
        """What runs beside the calls."""
        looks = [] if self.loaded.config.security.auth == "open" else [self.people.credentials.run()]
        return [*(loop(self.engine) for loop in _LOOPS), *looks]


async def _serve(loaded: Loaded[Config], sockets: Sequence[socket.socket], certificate: Certificate | None) -> int:
    stop = _Stop()
    clock = SystemClock()
    config = loaded.config
    rng = random.Random()
    store = backends.store_of(config, clock)
    cache = backends.CacheServers(config, clock, rng)
    journal = observers.journal_of(config, clock)
    tracing = observers.tracing_of(config)
    try:
        await store.open()
        await cache.start()
        if journal is not None:
            journal.open()
        people = await open_people(config, store, clock)
        lately = doors.lately_of(config, clock)
        engine = await parts.engine_of(config, store, cache, clock, rng, journal, lately, tracing)
        is_cut = await stop.cuts(_fill(engine, loaded))
        mounts = await doors.mounts_of(engine, store, people.accounts, config, lately, cache)
        code = 0 if is_cut else await _run(_Built(loaded, sockets, certificate, engine, people, mounts, tracing), stop)
        await engine.background.drain()
    finally:
        if journal is not None:
            journal.close()
        await store.close()
        await cache.close()
        if tracing is not None:
            await tracing.close()
    _log.info("stopped")
    return code


async def _run(built: _Built, stop: _Stop) -> int:
    """Serves beside the loops; 0, or 1 when one of them died."""
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


async def _accept(built: _Built, stop: _Stop) -> None:
    """Serves until told to stop, then finishes what it accepted."""
    engine, config = built.engine, built.loaded.config
    app = App(
        parts.dispatcher_of(engine, built.people.credentials, config, built.tracing),
        why_not_ready=lambda: _why_not_ready(engine, stop),
        mounts=built.mounts,
        bounds=parts.bounds_of(config),
        facts={"auth": config.security.auth},
    )
    engine.metrics.watch(CONNECTIONS, lambda: len(app.connections))
    gc.collect()
    gc.freeze()
    tls = None
    if built.certificate is not None:
        tls = built.certificate.context
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload, built.certificate)
    await app.start(built.sockets, stop_s_max=config.bounds.stop_timeout_ms / 1_000, tls=tls)
    try:
        _tell(engine, built.loaded, built.sockets[0].getsockname()[1])
        await stop.requested.wait()
    finally:
        _log.info("stopping", polls=len(engine.waiters), connections=len(app.connections))
        engine.waiters.end_all()
        await app.stop()
        with contextlib.suppress(CqsError):
            await engine.cluster.leave()


def _why_not_ready(engine: Engine, stop: _Stop) -> str:
    if stop.requested.is_set():
        return "stopping"
    return "draining" if engine.waiters.is_draining else ""


def _reload(certificate: Certificate) -> None:
    """SIGHUP: files that can't be used are told, and the server goes on with what it had."""
    try:
        certificate.reload()
    except ConfigError as error:
        _log.error("certificate_not_reloaded", reason=str(error))
    else:
        _log.info("certificate_reloaded")


async def _fill(engine: Engine, loaded: Loaded[Config]) -> None:
    await residency.open_all(engine)
    await boot.declare(engine, loaded.queues, loaded.config.behaviour.account)


def _raise_file_limit() -> None:
    """A connection is an open file, and the usual soft limit of 1,024 is fewer than `connections_max`."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _tell(engine: Engine, loaded: Loaded[Config], port: int) -> None:
    """Log line for machines, banner on standard error for people; with `--log-format json` the line alone."""
    config = loaded.config
    start = Start(
        endpoint=endpoint_of(config.listening, port),
        data=backends.place_of(config),
        auth=config.security.auth,
        region=config.behaviour.region,
        account=config.behaviour.account,
        queue_count=len(engine.registry),
    )
    if config.logging.log_format != "json":
        with contextlib.suppress(OSError):
            sys.stderr.write(start.text())
            sys.stderr.flush()
    _log.info("serving", **start.fields())
