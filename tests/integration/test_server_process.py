"""The server as a process: its output, how it starts and stops, and what prevents it from starting."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cqs import __version__
from tests.integration.process import ROOT, START_S_MAX, Served, command, refused, serving, until_waiting

SECOND_SIGNAL_AFTER_S = 1.3
"""Longer than the time within which the server treats two signals as one."""
POLL_S = 20
_LIMITED = (
    "import os, resource, sys; files = int(sys.argv[1]); "
    "resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)); os.execv(sys.argv[2], sys.argv[2:])"
)
"""Runs the arguments that follow the number of open files, with no more files than that."""


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(tmp_path / "data")


def test_start_tells_machines_and_people_where_it_is(data: str) -> None:
    with serving("--data-dir", data) as server:
        told = server.lines[-1]
        _, rest = server.stop()

    assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d*", server.endpoint)
    assert (told["level"], told["version"], told["queues"]) == ("info", __version__, 0)
    assert told["data"].startswith(data)
    assert f"--endpoint-url {server.endpoint}" in told["aws_cli"]
    for line in (server.endpoint, data, "any credentials", told["aws_cli"], told["boto3"]):
        assert line in rest


def test_lines_of_the_banner_work_when_pasted(data: str) -> None:
    with serving("--data-dir", data) as server:
        server.call("CreateQueue", QueueName="orders")
        names: dict[str, Any] = {}
        exec(f"import boto3; queues = {server.lines[-1]['boto3']}.list_queues()['QueueUrls']", names)

    assert names["queues"] == [f"{server.endpoint}/000000000000/orders"]


def test_json_log_is_all_there_is_when_asked_for(data: str) -> None:
    with serving("--data-dir", data, "--log-format", "json") as server:
        _, rest = server.stop()

    assert [line.split('"event":"')[1].split('"')[0] for line in rest.splitlines()] == ["stopping", "stopped"]


def test_lives_and_is_ready() -> None:
    with serving("--in-memory") as server:
        answers = [server.get(path)[0] for path in ("/health", "/ready")]

    assert answers == [200, 200]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_stops_with_exit_code_0(number: int) -> None:
    with serving("--in-memory") as server:
        code, rest = server.stop(number)

    assert code == 0
    assert "Traceback" not in rest


def test_nohup_is_heeded() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with serving("--in-memory") as server:
            server.process.send_signal(signal.SIGHUP)
            assert server.get("/health")[0] == 200
            assert server.stop()[0] == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_waiting_poll_is_answered_when_the_server_stops(data: str) -> None:
    answers: list[dict[str, Any]] = []
    with serving("--data-dir", data, "--stop-timeout", "10m") as server:
        url = server.call("CreateQueue", QueueName="q")["QueueUrl"]
        poll = threading.Thread(
            target=lambda: answers.append(server.call("ReceiveMessage", QueueUrl=url, WaitTimeSeconds=POLL_S))
        )
        started_s = time.monotonic()
        poll.start()
        until_waiting(server.endpoint)
        code, rest = server.stop()
        poll.join()

    assert (code, answers) == (0, [{}])
    assert time.monotonic() - started_s < POLL_S
    assert "Traceback" not in rest


def test_signal_heard_twice_at_once_is_one_request(data: str) -> None:
    """`make` forwards a signal that its whole process group has already received."""
    with serving("--data-dir", data) as server:
        server.process.send_signal(signal.SIGTERM)
        code, _ = server.stop()

    assert code == 0


PLAIN, CHUNKED = "Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
"""Requests that stop in the middle of their bodies, for the fast lane and for aiohttp's."""


def half_a_request(server: Served, rest: str = CHUNKED) -> socket.socket:
    """A connection whose request is never completed."""
    host, port = server.endpoint.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    connection.sendall(f"POST / HTTP/1.1\r\nHost: x\r\n{rest}".encode())
    server.get("/health")
    return connection


@pytest.mark.parametrize("rest", [PLAIN, CHUNKED], ids=["plain", "chunked"])
def test_client_that_never_ends_its_request_does_not_keep_the_server(data: str, rest: str) -> None:
    flags = "--data-dir", data, "--stop-timeout", "1s", "--body-timeout", "10m"
    with serving(*flags) as server, half_a_request(server, rest):
        code, rest = server.stop()

    assert code == 0
    assert "died" not in rest


def test_second_signal_ends_the_server_at_once(data: str) -> None:
    flags = "--data-dir", data, "--log-format", "json", "--stop-timeout", "10m", "--body-timeout", "10m"
    with serving(*flags) as server, half_a_request(server):
        server.process.send_signal(signal.SIGTERM)
        assert server.process.stdout is not None and '"event":"stopping"' in server.process.stdout.readline()
        time.sleep(SECOND_SIGNAL_AFTER_S)
        code, _ = server.stop()

    assert code == 128 + signal.SIGTERM


def test_server_ends_when_one_of_its_loops_dies() -> None:
    code = (
        "import asyncio, sys; from cqs.service import revisibility; from cqs.cli import main\n"
        "async def die(engine): await asyncio.sleep(0.1); raise KeyError('a body')\n"
        "revisibility.run = die; sys.argv = ['cqs', 'serve', '--in-memory', '--port', '0']; main()"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=START_S_MAX, cwd=ROOT)

    assert done.returncode == 1
    assert '"event":"loop_died","error":"KeyError"' in done.stdout
    assert '"event":"stopped"' in done.stdout
    assert "a body" not in done.stdout + done.stderr


def test_what_was_answered_is_there_after_a_restart(data: str) -> None:
    with serving("--data-dir", data) as server:
        url = server.call("CreateQueue", QueueName="q")["QueueUrl"]
        server.call("SendMessage", QueueUrl=url, MessageBody="tea")
        server.stop(signal.SIGKILL)

    with serving("--data-dir", data) as server:
        assert server.call("ReceiveMessage", QueueUrl=url)["Messages"][0]["Body"] == "tea"


def test_queues_of_the_file_exist_at_boot_and_again(data: str, tmp_path: Path) -> None:
    file = tmp_path / "cqs.toml"
    file.write_text(
        'purge_wait = false\n[[queue]]\nname = "a"\nattributes = { VisibilityTimeout = 7 }\ndead_letter = "b.fifo"\n'
        '[[queue]]\nname = "b.fifo"'
    )
    code, error = refused("--port", "0", "--data-dir", data, "--config", str(file))
    assert (code, error.count("\n")) == (2, 1)
    assert error.startswith("cqs: queue 'a': ")

    file.write_text(file.read_text().replace("b.fifo", "b") + '\ntags = { team = "shop" }')
    for timeout in ("7", "8"):
        file.write_text(file.read_text().replace("= 7 }", f"= {timeout} }}"))
        with serving("--data-dir", data, CQS_CONFIG=str(file)) as server:
            url = server.call("GetQueueUrl", QueueName="a")["QueueUrl"]
            attributes = server.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]
            tags = server.call("ListQueueTags", QueueUrl=url.replace("/a", "/b"))["Tags"]

        assert attributes["VisibilityTimeout"] == timeout
        assert '"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:b"' in attributes["RedrivePolicy"]
        assert tags == {"team": "shop"}


def test_second_server_on_the_same_data_is_refused_in_one_line(data: str) -> None:
    with serving("--data-dir", data):
        code, error = refused("--data-dir", data, "--port", "0")

    assert (code, error.count("\n")) == (1, 1)
    assert "data" in error and "use" in error


def test_taken_port_is_refused_in_one_line() -> None:
    with serving("--in-memory") as server:
        port = server.endpoint.rsplit(":", 1)[1]
        code, error = refused("--in-memory", "--port", port)

    assert (code, error.count("\n")) == (1, 1)
    assert error.startswith(f"cqs: port {port} on 127.0.0.1 is in use")


@pytest.mark.parametrize("files", [8, 16, 63])
def test_too_few_open_files_are_refused_in_one_line(data: str, files: int) -> None:
    limited = (sys.executable, "-c", _LIMITED, str(files), *command("--data-dir", data, "--port", "0"))
    done = subprocess.run(limited, capture_output=True, text=True, timeout=START_S_MAX, cwd=ROOT)

    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"cqs: this process may open {files} files, and a server needs 64: raise the limit")


@pytest.mark.parametrize("folder", ["/proc/nothing", "/dev/null/data"])
def test_data_folder_that_can_not_be_made_is_refused_in_one_line(folder: str) -> None:
    code, error = refused("--data-dir", folder, "--port", "0")

    assert (code, error.count("\n")) == (1, 1)
    assert error.startswith(f"cqs: The data directory {folder} can't be used")


def test_network_is_refused_unless_named_and_variables_count(data: str) -> None:
    code, error = refused("--port", "0", CQS_HOST="0.0.0.0", CQS_DATA_DIR=data)
    assert code == 2
    assert "--open-to-network" in error

    with serving("--host", "0.0.0.0", CQS_OPEN_TO_NETWORK="true", CQS_IN_MEMORY="1") as server:
        assert server.endpoint.startswith("http://127.0.0.1:")
        assert server.get("/health")[0] == 200


def test_data_folder_is_for_its_owner_only(data: str) -> None:
    with serving("--data-dir", data):
        assert os.stat(data).st_mode & 0o077 == 0
