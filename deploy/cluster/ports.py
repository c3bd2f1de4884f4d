"""Free ports, and processes that end with their parent.

A signal handler that raises after a process was started, but before the process is recorded, would leave the process
behind. So signals are blocked in between:

    with signals_held():
        self._process = Popen(…, preexec_fn=ends_with_parent())
"""

from __future__ import annotations

import contextlib
import ctypes
import random
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_PORTS = range(10_000, 32_768)
"""Above this range are the ephemeral ports that Linux assigns to clients at any time."""


def free_ports(addresses: Sequence[str], count: int) -> list[int]:
    """Ports that are currently free on all the addresses, chosen at random, so that two concurrent callers find
    different ones. Raises OSError when there are fewer."""
    shuffled = random.SystemRandom().sample(_PORTS, len(_PORTS))
    found = list(islice((port for port in shuffled if _is_free(addresses, port)), count))
    if len(found) < count:
        raise OSError(f"{', '.join(addresses)} have only {len(found)} free ports, or can't be bound at all")
    return found


def _is_free(addresses: Sequence[str], port: int) -> bool:
    with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
        for address in addresses:
            stack.enter_context(socket.socket()).bind((address, port))
        return True
    return False


def ends_with_parent(number: int = signal.SIGKILL) -> Callable[[], None]:
    """For `preexec_fn`: the child gets this signal when its parent ends."""
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)

    return ask


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Blocks stop signals inside; a signal that arrives is handled at the end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
