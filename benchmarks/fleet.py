"""The servers of one run: all running at the same time, warmed up, and restarted if one dies.

A peer that dies under a load has failed that scenario, but should not fail all following ones.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from types import TracebackType

from benchmarks import downloads
from benchmarks.generator import LoadFailed, drive
from benchmarks.peers import PEERS
from benchmarks.running import Running, running


class Fleet:
    """A context manager. Servers that are not available are left out, with the reason on standard error."""

    def __init__(self, names: Sequence[str], jvm_warm_s: float) -> None:
        self._names = names
        self._jvm_warm_s = jvm_warm_s
        self._stack = contextlib.ExitStack()
        self._servers: dict[str, Running] = {}

    def __enter__(self) -> Fleet:
        with contextlib.ExitStack() as starting:
            self._stack = starting
            for name in self._names:
                self._start(name)
            for server in self._servers.values():
                self._warm(server)
            self._stack = starting.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def turn(self, number: int) -> Iterator[Running]:
        """Yields every server once, running, beginning with another one in each round."""
        names = list(self._servers)
        first = number % max(len(names), 1)
        for name in [*names[first:], *names[:first]]:
            if not self._servers[name].is_alive():
                say(f"starting {name} again")
                self._start(name)
                self._warm(self._servers[name])
            yield self._servers[name]

    def _start(self, name: str) -> None:
        try:
            self._servers[name] = self._stack.enter_context(running(PEERS[name]))
        except downloads.NotAvailable as reason:
            say(f"without {name}: {reason}")

    def _warm(self, server: Running) -> None:
        """Warms up a JVM, which is several times slower until it has compiled frequently used code."""
        seconds = self._jvm_warm_s / 2 if server.peer.is_jvm else 0
        for batch in (1, 10) if seconds else ():
            say(f"warming {server.peer.name}, {batch} a call, {seconds:.0f} s")
            flags = [f"-batch={batch}", "-clients=16", "-warmup=0s", f"-duration={seconds}s"]
            with contextlib.suppress(LoadFailed):
                drive(downloads.load_generator(), server, flags)


def say(text: str) -> None:
    """Prints progress to standard error, since a run takes hours."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)
