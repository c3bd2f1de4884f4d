"""`make cluster` and `make cluster-2dc`: their output, that any node serves any queue, and that they clean up."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import pytest
from botocore.config import Config

from tests.needs import needs
from tests.processes import children_of, command_of, runs

ROOT = Path(__file__).parents[2]
START_S_MAX, STOP_S_MAX, NEWS_S_MAX = 300.0, 100.0, 60.0
STORAGE = "-Dcassandra.storagedir="
LINE = re.compile(r"(api http://127\.0\.0\.1|redis 127\.0\.0\.1|cassandra 127\.0\.0\.\d):(\d+) pid (\d+)")

pytestmark = [needs("java", "mvn", "redis-server"), pytest.mark.slow, pytest.mark.timeout(600)]


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The launcher as `make cluster` runs it, in its own process group, and its output until `ready`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "deploy.cluster", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True,
    )  # fmt: skip
    try:
        yield process, lines_until_ready(process)
    finally:
        process.kill()
        process.communicate()


def lines_until_ready(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    give_up = threading.Timer(START_S_MAX, process.kill)
    give_up.start()
    for line in process.stdout:
        lines.append(line.strip())
        if lines[-1] == "ready":
            give_up.cancel()
            return lines
    raise AssertionError(f"no cluster: {lines} {process.communicate()}")


def folders_of(pids: list[int]) -> list[Path]:
    """Returns the data folders of the processes that are Cassandra nodes; the cluster's folder is above them."""
    words = [word for pid in pids for word in command_of(pid)]
    return [Path(word.removeprefix(STORAGE)) for word in words if word.startswith(STORAGE)]


def sqs_at(endpoint: str) -> boto3.client:
    return boto3.client("sqs", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="000000000000",
                        aws_secret_access_key="any", config=Config(retries={"max_attempts": 0}))  # fmt: skip


def url_once_known(sqs: boto3.client) -> str:
    """Waits until the node knows a queue that another node created. Returns its URL."""
    give_up_s = time.monotonic() + NEWS_S_MAX
    while time.monotonic() < give_up_s:
        with contextlib.suppress(sqs.exceptions.QueueDoesNotExist):
            return str(sqs.get_queue_url(QueueName="tea")["QueueUrl"])
        time.sleep(0.1)
    raise AssertionError(f"the queue is not known to the other node after {NEWS_S_MAX:g} s")


@pytest.mark.parametrize(
    ("arguments", "kinds", "number"),
    [
        ([], {"api": 2, "redis": 2, "cassandra": 3}, signal.SIGTERM),
        (["--two-datacenters"], {"api": 2, "redis": 2, "cassandra": 2}, signal.SIGINT),
    ],
    ids=["cluster", "cluster-2dc"],
)
def test_what_one_node_took_another_gives_out(arguments: list[str], kinds: dict[str, int], number: int) -> None:
    with running(*arguments) as (process, lines):
        servers = [LINE.fullmatch(line) for line in lines[:-1]]
        assert None not in servers, lines
        pids = [int(server[3]) for server in servers if server]
        assert {kind: sum(line.startswith(kind + " ") for line in lines) for kind in kinds} == kinds
        assert all(runs(pid) for pid in pids)
        folders = folders_of(pids)
        assert len(folders) == kinds["cassandra"] and all(folder.exists() for folder in folders)

        first, second = [sqs_at(line.split()[1]) for line in lines if line.startswith("api ")]
        url = first.create_queue(QueueName="tea")["QueueUrl"]
        first.send_message(QueueUrl=url, MessageBody="two cups")
        there = url_once_known(second)
        (message,) = second.receive_message(QueueUrl=there, WaitTimeSeconds=20)["Messages"]
        assert message["Body"] == "two cups"
        second.delete_message(QueueUrl=there, ReceiptHandle=message["ReceiptHandle"])

        os.killpg(process.pid, number)
        output, errors = process.communicate(timeout=STOP_S_MAX)

    assert (process.returncode, output) == (0, "")
    ports = [server[2] for server in servers if server and server[1].startswith("api")]
    told = [f"dc{at}: http://127.0.0.1:{port}, redis " for at, port in enumerate(ports, start=1)] if arguments else []
    told.append(f"use it: export AWS_ENDPOINT_URL_SQS=http://127.0.0.1:{ports[0]} ")
    assert [line.startswith(start) for line, start in zip(errors.splitlines(), told, strict=True)] == [True] * len(told)
    assert [pid for pid in pids if runs(pid)] == []
    assert [folder for folder in folders if folder.parent.exists()] == []


def test_told_to_stop_while_it_starts_it_leaves_nothing() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "deploy.cluster"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        give_up_s = time.monotonic() + START_S_MAX
        while not (folders := folders_of(children_of(process.pid))):
            assert time.monotonic() < give_up_s and process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=STOP_S_MAX)
    finally:
        process.kill()

    assert (process.returncode, output, errors) == (0, "", "")
    assert [folder for folder in folders if folder.parent.exists()] == []


def test_stop_signal_is_heard_where_python_ignores_what_is_raised() -> None:
    program = """
import signal, sys, time
from deploy.cluster import __main__ as cluster

class Finalized:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)

cluster.listen()
Finalized()
try:
    time.sleep(600)
except cluster._Asked:
    print("asked")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=100)

    assert (done.stdout, done.stderr) == ("asked\n", "")
