"""A Celery application whose tasks record their runs: one line each in the file that CQS_TEST_RUNS names.

Run as a worker by `celery -A celery_app worker`, and as the producer by `python celery_app.py COUNT ETA_S`."""

from __future__ import annotations

import os
import sys
import time

from celery import Celery

TASKS, LATE = "celery-tasks", "celery-late"

app = Celery("cqs-tests")
app.conf.update(
    broker_url=f"sqs://test:test@{os.environ['CQS_TEST_BROKER']}",
    broker_transport_options={
        "region": "us-east-1",
        "is_secure": False,
        "visibility_timeout": 600,
        "wait_time_seconds": 2,
        "polling_interval": 0.05,
    },
    broker_connection_retry_on_startup=False,
    task_default_queue=TASKS,
    task_routes={"celery_app.late": {"queue": LATE}},
    task_acks_late=True,
    task_ignore_result=True,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_prefetch_multiplier=2,
)


def note(line: str) -> None:
    descriptor = os.open(os.environ["CQS_TEST_RUNS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


@app.task(name="celery_app.count")
def count(number: int) -> None:
    note(f"count {number}")
    note(f"worker {os.getpid()}")


@app.task(name="celery_app.late")
def late(eta_s: float) -> None:
    note(f"late {time.time() - eta_s:.3f}")


if __name__ == "__main__":
    count_max, eta_s = int(sys.argv[1]), float(sys.argv[2])
    late.apply_async((time.time() + eta_s,), countdown=eta_s)
    for number in range(count_max):
        count.delay(number)
