"""Progress of a running job: tasks send small datagrams to the driver, which sums and shows them, and tells a task that
asks how far all of them have got. A lost datagram costs only a figure on the screen, or a little time."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

EVERY_S = 2.0
ANSWER_S_MAX = 1.0
_BYTES_MAX = 4_096
_ASK = b"?"


class Reporter:
    """A task's side. `add` counts, and sends about once a second."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._counts: Counter[str] = Counter()
        self._sent_s = 0.0

    def add(self, counts: Mapping[str, int]) -> None:
        self._counts.update(counts)
        if time.monotonic() - self._sent_s >= 1.0:
            self.send()

    def send(self) -> None:
        """Sends what was counted since the last time."""
        self._sent_s = time.monotonic()
        self._socket.sendto(json.dumps(self._counts).encode(), self._address)
        self._counts.clear()

    def close(self) -> None:
        self.send()
        self._socket.close()


def totals_at(address: tuple[str, int]) -> dict[str, int] | None:
    """The totals that the driver has received from all tasks, at most about a second old; None without an answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(ANSWER_S_MAX)
        asking.sendto(_ASK, address)
        with suppress(OSError, ValueError):
            return dict(json.loads(asking.recv(_BYTES_MAX)))
    return None


@contextmanager
def shown(
    tell: Callable[[str], None], host: str = "127.0.0.1", bound_to: str = "127.0.0.1"
) -> Iterator[tuple[str, int]]:
    """The driver's side: yields the address for tasks, which reach the driver as `host`, and shows totals every EVERY_S
    while they change."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listening.bind((bound_to, 0))
    listening.settimeout(0.2)
    ending = threading.Event()
    thread = threading.Thread(target=_listen, args=(listening, ending, tell), name="progress", daemon=True)
    thread.start()
    try:
        yield host, listening.getsockname()[1]
    finally:
        ending.set()
        thread.join()
        listening.close()


def _listen(listening: socket.socket, ending: threading.Event, tell: Callable[[str], None]) -> None:
    totals: Counter[str] = Counter()
    told, told_s = "", time.monotonic()
    while not ending.is_set():
        with suppress(TimeoutError, ValueError):
            told_us, address = listening.recvfrom(_BYTES_MAX)
            if told_us == _ASK:
                listening.sendto(json.dumps(totals).encode(), address)
            else:
                totals.update(json.loads(told_us))
        text = "  ".join(f"{name} {count}" for name, count in sorted(totals.items()))
        if text != told and time.monotonic() - told_s >= EVERY_S:
            tell(text)
            told, told_s = text, time.monotonic()
