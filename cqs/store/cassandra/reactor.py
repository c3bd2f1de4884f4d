"""The driver's sockets, served by our own event loop.

The driver's reactors are threads of their own. Each request would then cost a hand-over in either direction, both with
a wait for the GIL, and timers would wake that thread as well. In the loop there is none of this: requests made in one
iteration of the loop are written at its end by one system call, and answers are delivered where they are awaited.

    loop              execute_async ─ push ─┐ execute_async ─ push ─┐ iteration ends: send ═► node ══► recv ─► answers
    driver's threads  connect, prepare … ─ push ─ call_soon_threadsafe ─┘

Connecting and TLS handshakes stay in the driver's threads, which may wait for the loop. The loop never waits for them.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

from cassandra import AuthenticationFailed
from cassandra.connection import Connection, ConnectionException, ConnectionShutdown, EndPoint

READ_BYTES = 1 << 16
WRITE_BYTES = 1 << 18
"""Bytes joined for one system call, unless one request is longer: with a backlog for a slow node, each call would
otherwise copy what it can't send."""
_AGAIN = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class LoopTimer:
    """Calls back in the loop, unless cancelled before. May be made and cancelled in any thread."""

    def __init__(self, reactor: type[LoopConnection], seconds: float, callback: Callable[[], object]) -> None:
        self._callback: Callable[[], object] | None = callback
        self._reactor = reactor
        self._handle: asyncio.TimerHandle | None = None
        if reactor.is_in_loop():
            self._start(seconds)
        else:
            reactor.soon(self._start, seconds)

    def _start(self, seconds: float) -> None:
        if self._callback is not None:
            self._handle = self._reactor.loop.call_later(seconds, self._ring)

    def _ring(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()

    def cancel(self) -> None:
        """Idempotent."""
        self._callback = None
        handle, self._handle = self._handle, None
        if handle is not None and self._reactor.is_in_loop():
            handle.cancel()


class LoopConnection(Connection):  # type: ignore[misc]
    """One socket to one node. `connections_of` makes the class for a loop."""

    loop: ClassVar[asyncio.AbstractEventLoop]
    thread: ClassVar[int]
    was_accepted: ClassVar[bool] = False
    """A node has accepted the password before."""

    is_closed: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Connects; returns before the node has answered. Raises OSError; ConnectionShutdown: its loop is closed."""
        super().__init__(*args, **kwargs)
        self._unsent: deque[bytes] = deque()
        self._is_flushing = False
        self._is_full = False
        self._connect_socket()
        self._socket.setblocking(False)
        self._number = self._socket.fileno()
        if not self.soon(self._attach):
            self._socket.close()
            raise ConnectionShutdown(f"The event loop that was to serve {self.endpoint} is closed")
        self._send_options_message()

    @classmethod
    def factory(cls, endpoint: EndPoint, timeout: float, *args: Any, **kwargs: Any) -> Connection:
        """Connects. The driver never again tries a host that once refused the password. But a node also does that while
        it can't read the passwords, since too few replicas are alive, or until somebody corrects the password. So only
        the first connection raises AuthenticationFailed; later ones raise ConnectionException, and are tried again."""
        try:
            connection = super().factory(endpoint, timeout, *args, **kwargs)
        except AuthenticationFailed as error:
            if cls.was_accepted:
                raise ConnectionException(str(error), endpoint) from error
            raise
        cls.was_accepted = True
        return connection

    @classmethod
    def is_in_loop(cls) -> bool:
        """Whether the caller runs in the loop's thread."""
        return threading.get_ident() == cls.thread

    @classmethod
    def soon(cls, call: Callable[..., object], *args: object) -> bool:
        """Runs the call in the loop; may be called from any thread. False, without running it, when the loop is closed:
        nobody waits for it then."""
        try:
            cls.loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            return False
        return True

    @classmethod
    def create_timer(cls, timeout: float, callback: Callable[[], object]) -> LoopTimer:
        """The interface that the driver requires."""
        return LoopTimer(cls, timeout, callback)

    def push(self, data: bytes) -> None:
        """Writes at the end of this loop iteration, in the order of the calls. May be called from any thread."""
        with self.lock:
            self._unsent.append(data)
            if self._is_flushing:
                return
            self._is_flushing = True
        if self.is_in_loop():
            self.loop.call_soon(self._flush)
        else:
            self.soon(self._flush)

    def close(self) -> None:
        """Callers that wait for an answer get ConnectionShutdown. May be called from any thread. Idempotent."""
        with self.lock:
            if self.is_closed:
                return
            self.is_closed = True
        if not self.soon(self._detach):
            self._socket.close()
        if not self.is_defunct:
            self.error_all_requests(ConnectionShutdown(f"Connection to {self.endpoint} was closed"))
            self.connected_event.set()

    def _attach(self) -> None:
        if not self.is_closed:
            self.loop.add_reader(self._number, self._readable)

    def _detach(self) -> None:
        self.loop.remove_reader(self._number)
        self.loop.remove_writer(self._number)
        self._socket.close()

    def _readable(self) -> None:
        try:
            data = self._socket.recv(READ_BYTES)
            self._iobuf.write(data)
            while data and self.ssl_context is not None and self._socket.pending():
                self._iobuf.write(self._socket.recv(READ_BYTES))
        except _AGAIN:
            return
        except OSError as error:
            self.defunct(error)
            return
        if data:
            self.process_io_buffer()
        else:
            self.close()

    def _flush(self) -> None:
        data = self._taken()
        try:
            sent = 0 if self.is_closed else self._socket.send(data)
        except _AGAIN:
            sent = 0
        except OSError as error:
            self.defunct(error)
            return
        with self.lock:
            if sent < len(data):
                self._unsent.appendleft(data[sent:])
            self._is_flushing = bool(self._unsent)
        self._await_room(self._is_flushing and not self.is_closed)

    def _taken(self) -> bytes:
        pieces, size = [], 0
        with self.lock:
            while self._unsent and size < WRITE_BYTES:
                pieces.append(self._unsent.popleft())
                size += len(pieces[-1])
        return b"".join(pieces)

    def _await_room(self, is_wanted: bool) -> None:
        if is_wanted and not self._is_full:
            self.loop.add_writer(self._number, self._flush)
        elif self._is_full and not is_wanted:
            self.loop.remove_writer(self._number)
        self._is_full = is_wanted


def connections_of(loop: asyncio.AbstractEventLoop) -> type[LoopConnection]:
    """The class of connections that the running loop serves. Must be called in its thread."""
    return type("LoopConnection", (LoopConnection,), {"loop": loop, "thread": threading.get_ident()})


def settle(waiter: asyncio.Future[list[Any]], outcome: list[Any] | Exception) -> None:
    """Completes the future, if its caller still waits. Must be called in the loop."""
    if waiter.done():
        return
    if isinstance(outcome, Exception):
        waiter.set_exception(outcome)
    else:
        waiter.set_result(outcome)
