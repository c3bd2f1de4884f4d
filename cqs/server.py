"""The composition root: builds the parts from the settings, starts them in order, and ends them in the reverse one.

    bind the port ─ open the store (locks the data) ─ fill the cache ─ declared queues ─ accept ─ "serving"
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
import resource
import signal
import socket
import sys
from collections.abc import Coroutine, Sequence

import structlog
import uvloop

from cqs import boot, doors, logs, observers, parts
from cqs.api.app import App
from cqs.banner import Start
from cqs.clock import SystemClock
from cqs.config import Config, Loaded
from cqs.listen import endpoint_of, open_sockets
from cqs.metrics.declarations import CONNECTIONS
from cqs.service import move_tasks, repair, residency, revisibility, statistics
from cqs.service.engine import Engine

SAME_SIGNAL_S = 1.0
_LOOPS = (revisibility.run, repair.run, move_tasks.run, statistics.run)
_log = structlog.get_logger("cqs.server")


def run(loaded: Loaded[Config]) -> int:
    """Serves until told to stop; the exit code. Raises ConfigError, CannotStart, StoreUnavailable."""
    logging = loaded.config.logging
    logs.set_up(logging.log_level, logging.log_format)
    _raise_file_limit()
    sockets = open_sockets(loaded.config.listening)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_serve(loaded, sockets))
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


async def _serve(loaded: Loaded[Config], sockets: Sequence[socket.socket]) -> int:
    stop = _Stop()
    clock = SystemClock()
    store = parts.store_of(loaded.config.storage, clock)
    journal = observers.journal_of(loaded.config, clock)
    await store.open()
    try:
        if journal is not None:
            journal.open()
        lately = doors.lately_of(loaded.config, clock)
        engine = await parts.engine_of(loaded.config, store, clock, journal, lately)
        is_cut = await stop.cuts(_fill(engine, loaded))
        mounts = await doors.mounts_of(engine, store, loaded.config, lately)
        code = 0 if is_cut else await _run(engine, loaded, sockets, stop, mounts)
        await engine.background.drain()
    finally:
        if journal is not None:
            journal.close()
        await store.close()
    _log.info("stopped")
    return code


async def _run(
    engine: Engine, loaded: Loaded[Config], sockets: Sequence[socket.socket], stop: _Stop, mounts: doors.Mounts
) -> int:
    """Serves beside the loops; 0, or 1 when one of them died."""
    try:
        async with asyncio.TaskGroup() as group:
            loops = [group.create_task(loop(engine)) for loop in _LOOPS]
            await _accept(engine, loaded, sockets, stop, mounts)
            for loop in loops:
                loop.cancel()
    except ExceptionGroup as died:
        for error in died.exceptions:
            _log.critical("loop_died", exc_info=error)
        return 1
    return 0


async def _accept(
    engine: Engine, loaded: Loaded[Config], sockets: Sequence[socket.socket], stop: _Stop, mounts: doors.Mounts
) -> None:
    """Serves until told to stop, then finishes what it accepted."""
    app = App(
        parts.dispatcher_of(engine, loaded.config),
        why_not_ready=lambda: "stopping" if stop.requested.is_set() else "",
        mounts=mounts,
        bounds=parts.bounds_of(loaded.config),
    )
    engine.metrics.watch(CONNECTIONS, lambda: len(app.connections))
    gc.collect()
    gc.freeze()
    await app.start(sockets, stop_s_max=loaded.config.bounds.stop_timeout_ms / 1_000)
    try:
        _tell(engine, loaded, sockets[0].getsockname()[1])
        await stop.requested.wait()
    finally:
        _log.info("stopping", polls=len(engine.waiters), connections=len(app.connections))
        engine.waiters.end_all()
        await app.stop()


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
    storage = config.storage
    start = Start(
        endpoint=endpoint_of(config.listening.host, port),
        data="" if storage.is_in_memory else str(parts.folder_of(storage)),
        mode="open: any credentials are accepted",
        region=config.behaviour.region,
        account=config.behaviour.account,
        queue_count=len(engine.registry),
    )
    if config.logging.log_format != "json":
        with contextlib.suppress(OSError):
            sys.stderr.write(start.text())
            sys.stderr.flush()
    _log.info("serving", **start.fields())
