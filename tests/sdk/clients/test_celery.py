"""Celery with kombu's SQS transport: two workers, 200 tasks, and one whose ETA is after the visibility timeout."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.sdk.interpreters import celery_python
from tests.sdk.server_process import ServerProcess

TASKS, LATE = "celery-tasks", "celery-late"
COUNT = 200
ETA_S = 5
LATE_VISIBILITY_S = 2
DONE_S_MAX = 90
_HERE = Path(__file__).parent


@contextmanager
def workers(python: Path, environment: dict[str, str], folder: Path) -> Iterator[None]:
    """Runs two workers, with their log files in `folder`."""
    words = ["-A", "celery_app", "worker", "-Q", f"{TASKS},{LATE}", "--pool=threads", "--concurrency=4"]
    words += ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=info"]
    started = []
    for name in ("one", "two"):
        with (folder / f"{name}.log").open("wb") as log:
            command = [str(python), "-m", "celery", *words, "-n", name]
            started.append(subprocess.Popen(command, cwd=_HERE, env=environment, stdout=log, stderr=log))
    try:
        yield
    finally:
        for worker in started:
            worker.send_signal(signal.SIGTERM)
        for worker in started:
            try:
                worker.wait(60)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()


def in_queues(sqs: Any) -> int:
    names = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "NotVisible", "Delayed")]
    total = 0
    for queue in (TASKS, LATE):
        url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        total += sum(int(told[name]) for name in names)
    return total


def test_two_workers_share_the_tasks_run_each_once_and_the_late_one_not_too_early(
    server: ServerProcess, json_client: Callable[..., Any], tmp_path: Path
) -> None:
    python, runs, sqs = celery_python(), tmp_path / "runs", json_client()
    runs.touch()
    sqs.create_queue(QueueName=LATE, Attributes={"VisibilityTimeout": str(LATE_VISIBILITY_S)})
    environment = os.environ | {"CQS_TEST_BROKER": f"127.0.0.1:{server.port}", "CQS_TEST_RUNS": str(runs)}
    with workers(python, environment, tmp_path):
        until(lambda: all("ready." in path.read_text() for path in tmp_path.glob("*.log")))
        command = [str(python), "celery_app.py", str(COUNT), str(ETA_S)]
        produced = subprocess.run(command, cwd=_HERE, env=environment, capture_output=True, text=True, timeout=90)
        assert produced.returncode == 0, produced.stderr
        until(lambda: is_done(runs) and not in_queues(sqs))
        left = in_queues(sqs)
    logs = "\n".join(path.read_text()[-2_000:] for path in tmp_path.glob("*.log"))
    counted = Counter(line for line in lines(runs) if line.startswith("count"))
    assert counted == Counter(f"count {number}" for number in range(COUNT)), logs
    assert len({line for line in lines(runs) if line.startswith("worker")}) == 2, logs
    late_s = [float(line.split()[1]) for line in lines(runs) if line.startswith("late")]
    assert late_s and min(late_s) >= -0.05, logs
    assert left == 0, logs


def until(is_so: Callable[[], bool]) -> None:
    """Waits until the condition holds, for at most DONE_S_MAX."""
    give_up_s = time.monotonic() + DONE_S_MAX
    while time.monotonic() < give_up_s and not is_so():
        time.sleep(0.2)


def lines(runs: Path) -> list[str]:
    return runs.read_text().splitlines()


def is_done(runs: Path) -> bool:
    ran = lines(runs)
    return len(ran) > 2 * COUNT and any(line.startswith("late") for line in ran)
