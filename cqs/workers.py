"""Several server processes on one port (`cqs serve --workers N`), and the parent that supervises them.

    parent    opens the sockets, never accepts ─ fork ─► worker 1 … N    all accept from the same sockets
              SIGTERM, Ctrl-C ─► to all of them, then waits               SIGUSR1 to the parent: "I serve"
              SIGHUP ─► reloads the certificate, as do all of them; without one it acts like SIGTERM
              one exits ─► another in its place, at once after a clean exit, else with backoff

A worker that stops resets no connections: those not yet accepted wait in the parent's sockets, and another worker
accepts them. The first worker starts alone, so that a failure to start is reported once. When the parent is gone, the
kernel tells the workers to stop. The parent has one thread and no event loop, so forking is safe.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable

import structlog

from cqs import heap
from cqs.banner import Start
from cqs.config import Config
from cqs.errors import CannotStart, ConfigError, CqsError
from cqs.scratch import Scratch
from cqs.slot import Slot
from cqs.stop import SAME_SIGNAL_S, end_signals

PAUSE_S_MIN, PAUSE_S_MAX = 0.1, 10.0
SOUND_S = 10.0
"""A worker that lived this long did not fail at startup."""
GRACE_S = 10.0
"""Added to the time that a worker has for its requests before it is killed."""
LOOK_S = 1.0
_PR_SET_PDEATHSIG = 1
_log = structlog.get_logger("cqs.workers")

Told = Callable[[Start], None]


def check_workers(config: Config) -> None:
    """Raises ConfigError if several workers would share no data."""
    wanted, count = config.backends, config.clustering.workers
    if count > 1 and (not (wanted.redis and wanted.cassandra) or config.storage.is_in_memory):
        raise ConfigError(
            f"workers: {count} need shared Redis and Cassandra servers (--redis, --cassandra); "
            "without them there can be only one"
        )


class _Place:
    """One worker's place, whichever process fills it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.pid = 0
        self.began_s = 0.0
        self.due_s: float | None = None
        """When the next one starts; None while one runs."""
        self.pause_s = PAUSE_S_MIN
        self.ready: int | None = None

    def put_off(self, now_s: float) -> float:
        """Schedules the next one after a failure; returns after how long."""
        pause_s, self.pause_s = self.pause_s, min(self.pause_s * 2, PAUSE_S_MAX)
        self.due_s = now_s + pause_s
        return pause_s


class Workers:
    """`serve` runs in each worker: it gets the worker's slot and returns its exit code. `told` is called once, when all
    serve, with the first worker's facts. `reread` is called on SIGHUP, for the sake of workers that start later; a
    starting worker handles SIGHUP as this process did before. `beside` is called each LOOK_S for other duties of the
    parent."""

    def __init__(
        self,
        serve: Callable[[Slot], int],
        count: int,
        stop_s_max: float,
        told: Told,
        *,
        reread: Callable[[], None] | None = None,
        beside: Callable[[], None] | None = None,
    ) -> None:
        self._serve = serve
        self._reread = reread
        self._rereads = {signal.SIGHUP} if reread is not None else set()
        self._ends = set(end_signals()) - self._rereads
        self._heard = {signal.SIGCHLD, signal.SIGUSR1, *self._ends, *self._rereads}
        self._told = told
        self._beside = beside
        self._stop_s_max = stop_s_max + GRACE_S
        self._places = [_Place(number) for number in range(1, count + 1)]
        self._parent = os.getpid()
        self._waiting = count
        self._start_of_first: Start | None = None
        self._scratch = Scratch("cqs-siblings-")

    def run(self) -> int:
        """Runs until told to stop. Returns 0, or the first worker's exit code if it fails to start."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, self._heard)
        heap.set_aside()
        try:
            return self._run()
        finally:
            self._scratch.remove()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _run(self) -> int:
        self._start(self._places[0])
        while True:
            heard = signal.sigtimedwait(self._heard, self._until_due_s())
            number = heard.si_signo if heard is not None else 0
            if number in self._ends:
                return self._stop()
            if self._reread is not None and number in self._rereads:
                self._reread()
                self._pass_on(number)
            self._hear_ready()
            if self._beside is not None:
                self._beside()
            for place, status in self._ended():
                if self._start_of_first is None:
                    return os.waitstatus_to_exitcode(status) or 1
                self._plan(place, status)
            for place in self._places:
                if place.due_s is not None and place.due_s <= time.monotonic():
                    self._start(place)

    def _until_due_s(self) -> float:
        due = [place.due_s for place in self._places if place.due_s is not None]
        longest_s = LOOK_S if self._beside is not None else 3_600.0
        return min(longest_s, max(0.0, min(due) - time.monotonic())) if due else longest_s

    def _start(self, place: _Place) -> None:
        """For want of memory or of processes, schedules another attempt. Raises CannotStart for the first worker."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        try:
            pid = os.fork()
        except OSError as error:
            os.close(reading)
            os.close(writing)
            if self._start_of_first is None:
                raise CannotStart(f"no worker can be started: {error.strerror}") from error
            pause_s = place.put_off(time.monotonic())
            _log.error("worker_not_started", worker=place.number, reason=error.strerror, next_s=pause_s)
            return
        if pid == 0:
            os.close(reading)
            os._exit(self._live(Slot(place.number, self._scratch.path, writing, self._parent)))
        os.close(writing)
        place.pid, place.ready, place.due_s, place.began_s = pid, reading, None, time.monotonic()

    def _live(self, slot: Slot) -> int:
        """Runs in the new process. If the parent was killed, the workers remove its folder."""
        for number in self._heard - self._rereads:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._heard)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        code = 1
        try:
            code = self._serve(slot) if os.getppid() == self._parent else 0
        except CqsError as error:
            sys.stderr.write(f"cqs: {error}\n")
            code = 2 if isinstance(error, ConfigError) else 1
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        if os.getppid() != self._parent:
            self._scratch.remove()
        return code

    def _hear_ready(self) -> None:
        """Reads the workers' reports; the first worker's report starts the others."""
        for place in self._places:
            if place.ready is None:
                continue
            try:
                text = os.read(place.ready, 65_536)
            except BlockingIOError:
                continue
            os.close(place.ready)
            place.ready = None
            if not text:
                continue
            if self._start_of_first is None:
                self._start_of_first = Start(**json.loads(text))
                for other in self._places[1:]:
                    other.due_s = 0.0
            self._waiting -= 1
            if self._waiting == 0:
                self._told(self._start_of_first)

    def _ended(self) -> list[tuple[_Place, int]]:
        ended: list[tuple[_Place, int]] = []
        for place in self._places:
            if place.pid:
                pid, status = os.waitpid(place.pid, os.WNOHANG)
                if pid:
                    place.pid = 0
                    ended.append((place, status))
        return ended

    def _plan(self, place: _Place, status: int) -> None:
        """Schedules another one in its place."""
        now_s = time.monotonic()
        code = os.waitstatus_to_exitcode(status)
        if code == 0 or now_s - place.began_s >= SOUND_S:
            place.pause_s = PAUSE_S_MIN
        pause_s = place.put_off(now_s)
        if code == 0:
            place.due_s, pause_s = now_s, 0.0
        told = _log.info if code == 0 else _log.error
        told("worker_ended", worker=place.number, code=code, next_s=pause_s)

    def _stop(self) -> int:
        """Stops all at once. Those that do not exit in time are killed; a second request kills all."""
        began_s = time.monotonic()
        self._pass_on(signal.SIGTERM)
        while any(place.pid for place in self._places):
            heard = signal.sigtimedwait(self._heard, max(0.0, began_s + self._stop_s_max - time.monotonic()))
            passed_s = time.monotonic() - began_s
            is_asked = heard is not None and heard.si_signo in self._ends
            if heard is None or (is_asked and passed_s > SAME_SIGNAL_S):
                self._pass_on(signal.SIGKILL)
                for place in self._places:
                    if place.pid:
                        os.waitpid(place.pid, 0)
                return 128 + (heard.si_signo if heard is not None else signal.SIGKILL)
            self._ended()
        return 0

    def _pass_on(self, number: int) -> None:
        for place in self._places:
            if place.pid:
                os.kill(place.pid, number)
