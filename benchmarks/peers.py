"""The servers to measure, as data: how to start each on a port with an empty folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import downloads
from cqs import __version__

Command = Callable[[int, Path], list[str]]


@dataclass(frozen=True, slots=True)
class Peer:
    """A server and how to start it. `command` gets the port and an empty folder."""

    name: str
    title: str
    version: str
    command: Command
    protocol: str = "json"
    is_durable: bool = False
    has_fifo: bool = True
    is_jvm: bool = False
    is_slow: bool = False
    """Too slow for the heavy scenarios: a hundred calls per second, not thousands."""
    is_chatty: bool = False
    """Logs every message, so its output is discarded."""
    is_checked: bool = False
    """Rejects unsigned requests; when it starts, such a rejection shows that it is ready."""
    load_flags: tuple[str, ...] = ()
    """Flags that the load generator needs for this server."""


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


ACCOUNT, KEY_ID, SECRET = "111122223333", "AKIABENCH", "a secret of the benchmark's"
KEY_FLAGS = (f"-access-key={KEY_ID}", f"-secret-key={SECRET}")
_USERS = f"""[[user]]
name = "bench"
account = "{ACCOUNT}"
keys = [{{ id = "{KEY_ID}", secret = "{SECRET}" }}]
"""


def checked_flags(mode: str, folder: Path) -> list[str]:
    """Returns the flags for a server in that mode, with a user who has full access to its own account."""
    users = folder / "users.toml"
    users.write_text(_USERS)
    users.chmod(0o600)
    return ["--auth", mode, "--users-file", str(users)]


def _cqs_signed(port: int, folder: Path) -> list[str]:
    return [*_cqs()(port, folder), *checked_flags("signed", folder)]


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
        Peer(
            *("cqs-signed", "CQS, durable, signatures checked", __version__, _cqs_signed),
            is_durable=True,
            is_checked=True,
            load_flags=KEY_FLAGS,
        ),
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
