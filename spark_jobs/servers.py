"""Servers that a run starts itself: one on SQLite, or the nodes of a cluster whose Cassandra and Redis already exist.
Each writes a full journal below the run's folder, and is stopped after the run has been played, so that the journals
are complete and the store no longer changes.

    data/              journal/, messages.db               server.log
    data/node-1 …      journal/ each                       node-1.log …      cluster
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from spark_jobs.errors import JobError
from spark_jobs.stored_cassandra import Keyspace

START_S_MAX = 60
STOP_S_MAX = 60
_COMMAND = (sys.executable, "-m", "cqs")


class NoServer(JobError):
    """A server did not start, or can't be reached."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is played against. `data_dir` "" = there is no SQLite store that this run can read."""

    endpoints: tuple[str, ...]
    journals: tuple[str, ...]
    data_dir: str = ""


def end_on_sigterm() -> None:
    """From now on SIGTERM ends this process like Ctrl-C, along with the servers it started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@contextmanager
def own_server(output: Path) -> Iterator[Target]:
    """One server on SQLite until the end of the block. Raises NoServer."""
    data_dir = _empty(output / "data")
    with _serving(data_dir, output / "server.log", []) as endpoint:
        yield Target((endpoint,), (str(data_dir / "journal"),), str(data_dir))


@contextmanager
def own_nodes(output: Path, keyspace: Keyspace, redis: str, count: int) -> Iterator[Target]:
    """`count` nodes of one cluster until the end of the block; creates the keyspace. Raises NoServer, NoStore."""
    hosts, port = keyspace.hosts_and_port
    access = ["--cassandra-user", keyspace.user] if keyspace.user else []
    access += ["--cassandra-password-file", keyspace.password_file] if keyspace.password_file else []
    _run("schema", "apply", "--keyspace", keyspace.name, "--cassandra", f"{hosts[0]}:{port}", *access)
    options = ["--cassandra", ",".join(hosts), "--cassandra-port", str(port), *access]
    options += ["--cassandra-keyspace", keyspace.name]
    folders = [_empty(output / "data") / f"node-{number}" for number in range(1, count + 1)]
    with ExitStack() as nodes:
        endpoints = [
            nodes.enter_context(
                _serving(
                    folder, output / f"{folder.name}.log", [*options, "--redis", redis, "--journal-node", folder.name]
                )
            )
            for folder in folders
        ]
        yield Target(tuple(endpoints), tuple(str(folder / "journal") for folder in folders))


@contextmanager
def _serving(data_dir: Path, log_path: Path, options: Sequence[str]) -> Iterator[str]:
    data_dir.mkdir(parents=True, exist_ok=True)
    command = [*_COMMAND, "serve", "--port", "0", "--data-dir", str(data_dir), "--journal", "full"]
    with log_path.open("wb") as log:
        server = subprocess.Popen(
            [*command, "--log-format", "json", *options], stdout=log, stderr=log, env=_environment()
        )
    try:
        yield _endpoint(server, log_path)
    finally:
        _stop(server)


def _stop(server: subprocess.Popen[bytes]) -> None:
    """Stops the server cleanly, so that the journal gets its last line."""
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(STOP_S_MAX)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _endpoint(server: subprocess.Popen[bytes], log_path: Path) -> str:
    """The endpoint, once it responds. Raises NoServer."""
    until_s = time.monotonic() + START_S_MAX
    while time.monotonic() < until_s and server.poll() is None:
        for line in log_path.read_text().splitlines():
            if '"event":"serving"' in line:
                endpoint = line.partition('"endpoint":"')[2].partition('"')[0]
                with suppress(OSError), urlopen(f"{endpoint}/ready", timeout=5):
                    return endpoint
        time.sleep(0.1)
    lines = log_path.read_text(errors="replace").strip().splitlines()
    raise NoServer(
        f"The server did not start; its log, {log_path}, ends with: {lines[-1][:300] if lines else 'nothing'}"
    )


def _run(*arguments: str) -> None:
    """Runs a CQS command. Raises NoServer with its output."""
    done = subprocess.run([*_COMMAND, *arguments], capture_output=True, text=True, check=False, env=_environment())
    if done.returncode:
        raise NoServer(f"cqs {' '.join(arguments[:2])}: {(done.stderr or done.stdout).strip()[-400:]}")


def _environment() -> Mapping[str, str]:
    """The environment without CQS_ settings, which belong to another server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CQS_")}


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
