"""Free ports, and processes that end with their parent.

A signal that raises between the start of a process and its being remembered would leave it behind, so it is held back
for as long:

    with signals_held():
        self._process = Popen(…, preexec_fn=ends_with_parent())
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import socket
from collections.abc import Callable, Iterator, Sequence

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1


def free_ports(addresses: Sequence[str], count: int) -> list[int]:
    """Ports that are free on all the addresses at this moment."""
    found: list[int] = []
    while len(found) < count:
        with contextlib.ExitStack() as stack:
            first = stack.enter_context(socket.socket())
            first.bind((addresses[0], 0))
            port = first.getsockname()[1]
            try:
                for address in addresses[1:]:
                    stack.enter_context(socket.socket()).bind((address, port))
            except OSError:
                continue
            if port not in found:
                found.append(port)
    return found


def ends_with_parent(number: int = signal.SIGKILL) -> Callable[[], None]:
    """For `preexec_fn`: the child gets this signal when its parent is gone."""
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)

    return ask


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Inside, no signal that asks to stop is heard; one that came is heard at the end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
