"""The servers that are measured, and their life as child processes.

Each is started on a free port of the loopback interface with a folder of its own, is ready when it answers
ListQueues, and is stopped by its process id. Nothing else on the machine is touched.
"""

from __future__ import annotations

import contextlib
import http.client
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from benchmarks import downloads, proc
from cqs import __version__

_READY_WITHIN_S = 90.0
_STOP_WITHIN_S = 20.0
_FOLDERS = downloads.CACHE / "data"
_LOGS = downloads.CACHE / "logs"

Command = Callable[[int, Path], list[str]]


@dataclass(frozen=True, slots=True)
class Peer:
    """A server as it can be started. `command` gets the port and an empty folder."""

    name: str
    title: str
    version: str
    command: Command
    protocol: str = "json"
    is_durable: bool = False
    has_fifo: bool = True
    is_jvm: bool = False
    is_slow: bool = False
    """Too slow for the heavy scenarios: a hundred calls a second, not thousands."""
    is_chatty: bool = False
    """Logs every message: its output goes nowhere."""
    is_checked: bool = False
    """Refuses who does not sign; that is an answer, too."""
    load_flags: tuple[str, ...] = ()
    """What the load generator has to heed with this server."""


def _cqs(*flags: str) -> Command:
    return lambda port, folder: [
        *(sys.executable, "-m", "cqs", "serve", "--port", str(port), "--log-level", "warning"),
        *(flags or ("--data-dir", str(folder))),
    ]


_UNLEASED = ("--no-leases",)


def _cqs_unleased(port: int, folder: Path) -> list[str]:
    return [*_cqs()(port, folder), *_UNLEASED]


def _cqs_journal(port: int, folder: Path) -> list[str]:
    return [*_cqs()(port, folder), "--journal", "full"]


def _cqs_redis(*flags: str) -> Command:
    return lambda port, folder: [*_cqs("--data-dir", str(folder), "--redis", "spawn", *flags)(port, folder)]


def _cqs_cassandra(*flags: str) -> Command:
    return lambda port, _: [sys.executable, "-m", "benchmarks.clustered", str(port), *flags]


_ELASTICMQ_CONF = """include classpath("application.conf")
node-address {{ protocol = http, host = "127.0.0.1", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-port = {port}, bind-hostname = "127.0.0.1", sqs-limits = relaxed }}
rest-stats {{ enabled = false }}
"""
_ELASTICMQ_H2 = """messages-storage {{ enabled = true, uri = "jdbc:h2:{folder}/messages" }}
"""


def _elasticmq(*flags: str, is_durable: bool = False) -> Command:
    def command(port: int, folder: Path) -> list[str]:
        text = _ELASTICMQ_CONF + (_ELASTICMQ_H2 if is_durable else "")
        (folder / "elasticmq.conf").write_text(text.format(port=port, folder=folder))
        options = [*flags, f"-Dconfig.file={folder / 'elasticmq.conf'}", "-cp", downloads.elasticmq_class_path()]
        return ["java", *options, "org.elasticmq.server.Main"]

    return command


_GOAWS_CONF = """Local:
  Host: 127.0.0.1
  Port: {port}
  Region: us-east-1
  AccountId: "000000000000"
  QueueAttributeDefaults:
    VisibilityTimeout: 30
    ReceiveMessageWaitTimeSeconds: 0
    MaximumMessageSize: 1048576
"""


def _goaws(port: int, folder: Path) -> list[str]:
    (folder / "goaws.yaml").write_text(_GOAWS_CONF.format(port=port))
    return [str(downloads.goaws_program()), "-config", str(folder / "goaws.yaml"), "Local"]


def _moto(port: int, _: Path) -> list[str]:
    return [str(downloads.moto_python()), "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]


_EMQ = downloads.ELASTICMQ_VERSION
PEERS = {
    peer.name: peer
    for peer in (
        Peer("cqs", "CQS, durable (SQLite, fsync)", __version__, _cqs(), is_durable=True),
        Peer("cqs-journal", "CQS, durable, with a full journal", __version__, _cqs_journal, is_durable=True),
        Peer("cqs-memory", "CQS, in memory", __version__, _cqs("--in-memory")),
        Peer("cqs-redis-sqlite", "CQS, Redis + SQLite", __version__, _cqs_redis(), is_durable=True),
        Peer(
            "cqs-redis-cassandra", "CQS, Redis + Cassandra", __version__, _cqs_cassandra(), is_durable=True, is_jvm=True
        ),
        *(
            Peer(f"{name}-unleased", f"{title}, leases off", __version__, command, is_durable=True, is_jvm=is_jvm)
            for name, title, command, is_jvm in (
                ("cqs", "CQS, durable", _cqs_unleased, False),
                ("cqs-redis-sqlite", "CQS, Redis + SQLite", _cqs_redis(*_UNLEASED), False),
                ("cqs-redis-cassandra", "CQS, Redis + Cassandra", _cqs_cassandra(*_UNLEASED), True),
            )
        ),
        Peer("elasticmq", "ElasticMQ, in memory", _EMQ, _elasticmq(), is_jvm=True),
        Peer("elasticmq-256m", "ElasticMQ, in memory, 256 MB heap", _EMQ, _elasticmq("-Xmx256m"), is_jvm=True),
        Peer("elasticmq-h2", "ElasticMQ, H2 files", _EMQ, _elasticmq(is_durable=True), is_durable=True, is_jvm=True),
        Peer(
            *("goaws", "goaws, in memory", downloads.GOAWS_VERSION, _goaws),
            protocol="query",
            has_fifo=False,
            is_chatty=True,
            load_flags=("-setup-clients=1",),  # it dies of queues that are created at once
        ),
        Peer("moto", "moto server, in memory", downloads.MOTO_VERSION, _moto, is_slow=True, is_chatty=True),
    )
}


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers."""

    peer: Peer
    port: int
    process: subprocess.Popen[bytes]
    command: Sequence[str]
    started_in_s: float
    """From the start of the process until the first answer."""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def usage(self) -> proc.Usage:
        """CPU and memory of the server's whole process tree."""
        return proc.usage([self.process.pid])


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(peer: Peer, *, folder: Path | None = None) -> Iterator[Running]:
    """Starts the server and stops it in the end, whatever happens. A given folder is kept, else one is made and
    removed. Raises NotAvailable when it can't be had or does not get ready."""
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
    """SIGTERM ends this process the way Ctrl-C does, so that its servers are stopped."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
