"""Every program of examples/ runs as its README says, with a real server that it finds by its environment."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.process import serving, until
from tests.needs import needs
from tests.sdk.interpreters import celery_python
from tests.sdk.server_process import ServerProcess
from tests.sdk.toolchains import JAVA_PROGRAM, ROOT, go_program, java_class_path, node_folder, pointed_at

EXAMPLES = ROOT / "examples"
RUN_S_MAX = 120
LINES_MAX = 60
TEN = "abcdefghij"
"""Messages for ten seconds of work: a slow machine tells the worker to stop later, but before the last."""
TEAS = ["Assam: 1", "Ceylon: 2", "Darjeeling: 3", "coffees: The specified queue does not exist."]


def ran(server: ServerProcess, *command: object) -> list[str]:
    """Runs it and returns the lines it prints. It must exit with 0 and print no errors."""
    words = [str(word) for word in command]
    environment = pointed_at(server.url)
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=RUN_S_MAX, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout.splitlines()


def python(server: ServerProcess, name: str) -> list[str]:
    return ran(server, sys.executable, EXAMPLES / name)


def waiting(sqs: Any, queue: str) -> int:
    """Returns how many messages of the queue are not in flight."""
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    name = "ApproximateNumberOfMessages"
    return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_worker_told_to_stop_finishes_its_message_and_gives_the_others_back(
    server: ServerProcess, json_client: Callable[..., Any], number: signal.Signals
) -> None:
    sqs = json_client()
    queue = sqs.create_queue(QueueName="orders")["QueueUrl"]
    sqs.send_message_batch(QueueUrl=queue, Entries=[{"Id": tea, "MessageBody": tea} for tea in TEN])
    with subprocess.Popen(
        [sys.executable, EXAMPLES / "worker.py"], stdout=subprocess.PIPE, text=True, env=pointed_at(server.url)
    ) as worker:
        try:
            assert worker.stdout is not None
            waits, works = worker.stdout.readline(), worker.stdout.readline()
            worker.send_signal(number)
            rest, _ = worker.communicate(timeout=RUN_S_MAX)
            *more, last = rest.splitlines()
        finally:
            worker.kill()

    assert (waits, works) == (f"waiting for messages in {queue}\n", "working on: a\n")
    assert more == [f"working on: {tea}" for tea in TEN[1 : 1 + len(more)]]
    assert (last, worker.returncode) == ("stopped", 0)
    assert waiting(sqs, "orders") == len(TEN) - 1 - len(more) > 0
    sqs.delete_queue(QueueUrl=queue)


def test_fifo_serves_each_customer_in_order_and_once(server: ServerProcess) -> None:
    lines = python(server, "fifo.py")

    served = [line.split(": ")[1].split() for line in lines]
    assert len(served) == 9
    for customer in ("Ann", "Bob", "Cleo"):
        assert [step for name, step in served if name == customer] == ["ordered", "paid", "shipped"]


def test_dead_letter_is_set_aside_and_moved_back(server: ServerProcess) -> None:
    lines = python(server, "dead_letters.py")

    assert sorted(lines[:3]) == ["books: done", "glass: failed, broke it", "glass: failed, broke it"]
    assert lines[3:] == ["dead letters: 1", "glass: done"]


def test_heartbeat_keeps_a_message_hidden_for_longer_than_its_timeout(server: ServerProcess) -> None:
    came, others = python(server, "heartbeat.py")

    match = re.fullmatch(r"holiday\.mov came after (\d+\.\d) seconds", came)
    assert match is not None and float(match[1]) >= 1
    assert others == "during 6 seconds of work others received 0"


def test_many_consumers_share_the_messages(server: ServerProcess) -> None:
    (line,) = python(server, "many_consumers.py")

    match = re.fullmatch(r"(\d+) consumers handled 300 messages", line)
    assert match is not None and 1 < int(match[1]) <= 50


def test_pytest_fixture_starts_a_server_for_the_tests() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CQS_"))}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(EXAMPLES / "test_orders.py")]

    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=RUN_S_MAX, check=False)

    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout + done.stderr


def test_celery_runs_the_task_for_now_and_the_late_one(server: ServerProcess, tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [str(celery_python()), "-m", "celery", "--workdir", "examples", "-A", "celery_app", "worker"]
    command += ["--loglevel", "info", "--concurrency", "1"]
    with log.open("w") as output:
        worker = subprocess.Popen(command, stdout=output, stderr=output, cwd=ROOT, env=pointed_at(server.url))
    try:
        assert ran(server, celery_python(), EXAMPLES / "celery_app.py") == []
        until(lambda: log.read_text().count("hello, ") == 2 or worker.poll() is not None, RUN_S_MAX)
    finally:
        worker.terminate()
        worker.wait(RUN_S_MAX)

    assert re.findall(r"hello, (\w+)", log.read_text()) == ["Ann", "Bob"], log.read_text()


@needs("node", "npm")
def test_javascript_serves_the_teas(server: ServerProcess) -> None:
    program = shutil.copy(EXAMPLES / "teas.mjs", node_folder())

    assert ran(server, "node", "--no-warnings", program) == TEAS


@needs("go")
def test_go_serves_the_teas(server: ServerProcess) -> None:
    assert ran(server, go_program(EXAMPLES / "go")) == TEAS


@needs("javac", "mvn")
def test_java_serves_the_teas(server: ServerProcess) -> None:
    assert ran(server, *JAVA_PROGRAM, java_class_path(), EXAMPLES / "java" / "Teas.java") == TEAS


def test_declared_queues_are_there_when_the_server_starts(tmp_path: Path) -> None:
    with serving("--data-dir", str(tmp_path), CQS_CONFIG=str(EXAMPLES / "cqs.toml")) as server:
        urls = {url.rsplit("/", 1)[1]: url for url in server.call("ListQueues")["QueueUrls"]}
        told = {
            name: server.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]
            for name, url in urls.items()
        }

    assert set(told) == {"orders", "orders-dead", "payments.fifo"}
    assert (told["orders"]["VisibilityTimeout"], told["orders-dead"]["MessageRetentionPeriod"]) == ("60", "1209600")
    assert told["orders-dead"]["QueueArn"] in told["orders"]["RedrivePolicy"]
    assert told["payments.fifo"]["FifoQueue"] == told["payments.fifo"]["ContentBasedDeduplication"] == "true"


def programs() -> list[Path]:
    kept = (path for path in sorted(EXAMPLES.rglob("*")) if path.suffix in {".py", ".mjs", ".go", ".java", ".toml"})
    return [path for path in kept if not {"node_modules", "target"} & set(path.parts)]


@pytest.mark.parametrize("path", programs(), ids=lambda path: path.name)
def test_example_is_short_and_stands_in_the_table(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LINES_MAX
    assert f"]({os.path.relpath(path, EXAMPLES)})" in (EXAMPLES / "README.md").read_text()
