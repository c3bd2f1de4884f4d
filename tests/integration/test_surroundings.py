"""Faulty environments of real servers, at start and at run time: one clear line, a defined behaviour, no hang."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.cluster.ports import free_ports
from deploy.cluster.redis_process import RedisProcess
from tests.contract.sqlite_home import fill, small_disk
from tests.integration.process import Served, command, lines_until_serving, refused, serving, until
from tests.needs import needs


def ready(server: Served) -> tuple[int, dict[str, Any]]:
    status, body = server.get("/ready")
    return status, json.loads(body)


def exchange(server: Served) -> None:
    """Sends and receives a message."""
    url = server.call("CreateQueue", QueueName="tea")["QueueUrl"]
    server.call("SendMessage", QueueUrl=url, MessageBody="two cups")
    (message,) = server.call("ReceiveMessage", QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    server.call("DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def test_cassandra_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    (port,) = free_ports(["127.0.0.1"], 1)
    code, error = refused(
        "--port", "0", "--data-dir", str(tmp_path), "--cassandra", "127.0.0.1", "--cassandra-port", str(port)
    )

    assert (code, error.count("\n")) == (1, 1)
    assert error.startswith(f"cqs: Cassandra at 127.0.0.1:{port}: no node answers")


def test_redis_that_is_not_there_costs_nothing_but_speed(tmp_path: Path) -> None:
    (port,) = free_ports(["127.0.0.1"], 1)
    with serving("--data-dir", str(tmp_path), "--redis", f"redis://127.0.0.1:{port}") as server:
        until(lambda: ready(server)[1]["status"] == "degraded")
        exchange(server)


@needs("redis-server")
@pytest.mark.parametrize(
    ("options", "login", "words"),
    [
        (["--requirepass", "hush"], ":wrong@", ": the user or password is wrong"),
        (["--requirepass", "hush"], "", ": it requires a password and none is given"),
        (["--replicaof", "127.0.0.1", "1"], "", ": it is a replica"),
        (["--maxmemory", "1gb", "--maxmemory-policy", "allkeys-lru"], "", "maxmemory-policy is allkeys-lru"),
        (["--save", "60 1"], "", "it saves to disk"),
        (["--appendonly", "yes"], "", "it writes an append-only file"),
    ],
    ids=["wrong password", "no password", "replica", "evicts", "saves", "appends"],
)
def test_redis_that_is_not_in_order_is_told_and_served_without(
    tmp_path: Path, options: list[str], login: str, words: str
) -> None:
    (port,) = free_ports(["127.0.0.1"], 1)
    place = f"redis://{login}127.0.0.1:{port}"
    with RedisProcess(*options, port=port), serving("--data-dir", str(tmp_path), "--redis", place) as server:
        status, told = ready(server)
        exchange(server)

    (trouble,) = told["troubles"]
    assert (status, told["status"]) == (200, "degraded"), "from the first answer on"
    assert trouble.startswith("Redis ") and f"127.0.0.1:{port}: " in trouble
    assert words in trouble
    assert "wrong@" not in trouble
    assert "can't be reached" not in trouble and trouble.count(f"{port}") == 1


def test_a_data_file_that_vanishes_and_comes_back(tmp_path: Path) -> None:
    with serving("--data-dir", str(tmp_path)) as server:
        assert ready(server) == (200, {"status": "ok", "auth": "open"})
        (tmp_path / "messages.db").rename(tmp_path / "elsewhere")
        until(lambda: ready(server)[0] == 503)
        reason = ready(server)[1]["reason"]
        (tmp_path / "elsewhere").rename(tmp_path / "messages.db")
        until(lambda: ready(server)[0] == 200)
        exchange(server)
        _, rest = server.stop()

    assert reason == f"{tmp_path / 'messages.db'} was deleted or replaced: put it back. Nothing was written."
    assert rest.count('"event":"trouble"') == rest.count('"event":"trouble_over"') == 1


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disk() as place:
        yield place


def test_a_full_disk_is_told_until_it_has_space(disk: Path) -> None:
    with serving("--data-dir", str(disk / "data")) as server:
        fill(disk / "filler")
        until(lambda: ready(server)[1]["status"] == "degraded")
        status, told = ready(server)
        (disk / "filler").unlink()
        until(lambda: ready(server) == (200, {"status": "ok", "auth": "open"}))
        exchange(server)
        server.stop()

    assert status == 200
    assert told["troubles"] == [
        f"The disk of {disk / 'data'} is full, or a quota used up: free space there. Sends are refused, deletes still "
        "work."
    ]


@needs("prlimit")
def test_fewer_open_files_than_connections(tmp_path: Path) -> None:
    process = subprocess.Popen(
        ["prlimit", "--nofile=300:300", *command("--port", "0", "--data-dir", str(tmp_path))],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        server = Served(process, lines_until_serving(process))
        (line,) = [line for line in server.lines if line["event"] == "fewer_files_than_connections"]
        assert (line["open_files"], line["connections_max"], line["used"]) == (300, 10_000, 200)
        exchange(server)
    finally:
        process.kill()
        process.communicate()
