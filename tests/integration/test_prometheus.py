"""A real Prometheus scrapes a running server, and its query API returns what happened there."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.integration.process import ROOT, Served, serving
from tests.needs import needs

WAIT_S_MAX = 45.0
FOLDER = ROOT / "deploy" / "prometheus"


class Prometheus:
    """The HTTP API of Prometheus."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}/api/v1/"

    def ask(self, path: str, **query: str) -> Any:
        with urlopen(f"{self._base}{path}?{urlencode(query)}", timeout=10) as answer:
            return json.loads(answer.read())["data"]

    def values(self, query: str) -> dict[str, float]:
        """Returns values by the label `queue`; "" = no label."""
        result = self.ask("query", query=query)["result"]
        return {one["metric"].get("queue", ""): float(one["value"][1]) for one in result}


@contextmanager
def prometheus(folder: Path, endpoint: str) -> Iterator[Prometheus]:
    """The shipped configuration with another target and a shorter interval."""
    config = (FOLDER / "prometheus.yml").read_text()
    assert "127.0.0.1:9324" in config
    config = config.replace("127.0.0.1:9324", endpoint.removeprefix("http://")).replace("15s", "1s")
    (folder / "prometheus.yml").write_text(config)
    (folder / "alerts.yml").write_text((FOLDER / "alerts.yml").read_text())
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    process = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield Prometheus(port)
    finally:
        process.terminate()
        process.wait(timeout=20)


def eventually(condition: Callable[[], bool]) -> None:
    """Waits until the condition holds: Prometheus takes some time to start and to scrape."""
    give_up_s = time.monotonic() + WAIT_S_MAX
    while time.monotonic() < give_up_s:
        try:
            if condition():
                return
        except (URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(0.2)
    pytest.fail("Prometheus never said so")


def fill(server: Served) -> None:
    """Creates two queues; one is the other's dead-letter queue and has a message."""
    for name in ("orders", "dead"):
        server.call("CreateQueue", QueueName=name)
    orders, dead = (f"{server.endpoint}/000000000000/{name}" for name in ("orders", "dead"))
    policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1})
    server.call("SetQueueAttributes", QueueUrl=orders, Attributes={"RedrivePolicy": policy})
    for body in ("poison", "one", "two", "three"):
        server.call("SendMessage", QueueUrl=orders, MessageBody=body)
    server.call("ReceiveMessage", QueueUrl=orders, VisibilityTimeout=0)
    (message,) = server.call("ReceiveMessage", QueueUrl=orders)["Messages"]
    server.call("DeleteMessage", QueueUrl=orders, ReceiptHandle=message["ReceiptHandle"])
    server.call("ReceiveMessage", QueueUrl=dead, VisibilityTimeout=0)


@needs("prometheus")
def test_prometheus_scrapes_the_server_and_evaluates_the_alerts(tmp_path: Path) -> None:
    with serving("--data-dir", str(tmp_path / "cqs")) as server:
        fill(server)
        with prometheus(tmp_path, server.endpoint) as prom:
            eventually(lambda: prom.values("cqs_messages_visible").get("dead") == 1)

            assert prom.values('up{job="cqs"}') == {"": 1}
            assert prom.values("cqs_messages_sent_total") == {"orders": 4, "dead": 0, "_other": 0}
            assert prom.values("cqs_messages_deleted_total")["orders"] == 1
            assert prom.values("cqs_messages_dead_lettered_total")["orders"] == 1
            assert prom.values("cqs_messages_visible")["orders"] == 2
            assert prom.values("cqs_dead_letter_queue") == {"dead": 1}
            assert prom.values('sum(cqs_requests_total{action="SendMessage",code="ok"})') == {"": 4}
            assert prom.values("sum(cqs_commit_jobs_sum)")[""] >= 5
            assert prom.values("cqs_store_size_bytes")[""] > 4_096
            assert prom.values("cqs_message_size_bytes_sum")["orders"] == len("poisononetwothree")
            assert prom.values("cqs_build_info") == {"": 1}
            eventually(lambda: pending(prom) >= {"CqsDeadLetters"})
            assert {rule["health"] for rule in rules(prom)} == {"ok"}


def rules(prom: Prometheus) -> list[dict[str, Any]]:
    return [rule for group in prom.ask("rules")["groups"] for rule in group["rules"]]


def pending(prom: Prometheus) -> set[str]:
    """Returns the alerts whose expression is true."""
    return {rule["name"] for rule in rules(prom) if rule["state"] in ("pending", "firing")}
