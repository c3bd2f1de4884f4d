"""Runs the measured servers as child processes.

Each is started on a free port of the loopback interface with its own folder, is ready when it responds to ListQueues,
and is stopped by its process id. Nothing else on the machine is touched.
"""

from __future__ import annotations

import contextlib
import http.client
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from benchmarks import downloads, proc
from benchmarks.peers import Peer

_READY_WITHIN_S = 90.0
_STOP_WITHIN_S = 20.0
_FOLDERS = downloads.CACHE / "data"
_LOGS = downloads.CACHE / "logs"


@dataclass(frozen=True, slots=True)
class Running:
    """A server that is ready."""

    peer: Peer
    port: int
    process: subprocess.Popen[bytes]
    command: Sequence[str]
    started_in_s: float
    """From the start of the process until the first response."""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def usage(self) -> proc.Usage:
        """Returns CPU and memory of the server's whole process tree."""
        return proc.usage([self.process.pid])


def free_port() -> int:
    """Returns a port of the loopback interface that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(peer: Peer, *, folder: Path | None = None) -> Iterator[Running]:
    """Starts the server, and always stops it at the end. A given folder is kept; otherwise a temporary one is used.
    Raises NotAvailable if the server can't be installed or does not become ready."""
    own = folder is None
    place = folder or _FOLDERS / f"{peer.name}-{time.time_ns()}"
    place.mkdir(parents=True, exist_ok=True)
    _LOGS.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = peer.command(port, place)
    log = Path("/dev/null") if peer.is_chatty else _LOGS / f"{peer.name}.log"
    try:
        with log.open("ab") as output:
            start = time.monotonic()
            process = subprocess.Popen(command, cwd=downloads.ROOT, stdout=output, stderr=output)
        try:
            _wait_until_ready(peer, port, process, start + _READY_WITHIN_S)
            yield Running(peer, port, process, command, time.monotonic() - start)
        finally:
            _stop(process)
    finally:
        if own:
            shutil.rmtree(place, ignore_errors=True)


def _wait_until_ready(peer: Peer, port: int, process: subprocess.Popen[bytes], deadline: float) -> None:
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise downloads.NotAvailable(f"{peer.name} ended with {process.returncode}: see {_LOGS}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            if _status_of_list(peer, port) == (400 if peer.is_checked else 200):
                return
        time.sleep(0.02)
    raise downloads.NotAvailable(f"{peer.name} did not answer within {_READY_WITHIN_S:.0f} s: see {_LOGS}")


def _status_of_list(peer: Peer, port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        if peer.protocol == "json":
            headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.ListQueues"}
            connection.request("POST", "/", b"{}", headers)
        else:
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            connection.request("POST", "/", b"Action=ListQueues&Version=2012-11-05", headers)
        return connection.getresponse().status
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def stop_on_signals() -> None:
    """Makes SIGTERM end this process like Ctrl-C, so that its servers are stopped."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
