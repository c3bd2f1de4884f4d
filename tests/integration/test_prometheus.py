"""A real Prometheus scrapes a running server, and its query API returns what happened there."""

from __future__ import annotations

import json
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

from deploy.cluster.ports import free_ports
from tests.integration.process import ROOT, Served, serving
from tests.needs import needs

WAIT_S_MAX = 120.0
FOLDER = ROOT / "deploy" / "prometheus"


class Prometheus:
    """The HTTP API of Prometheus."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}/api/v1/"

    def ask(self, path: str, **query: str) -> Any:
        with urlopen(f"{self._base}{path}?{urlencode(query)}", timeout=60) as answer:
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
    (port,) = free_ports(["127.0.0.1"], 1)
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
        process.wait(timeout=60)


def eventually(condition: Callable[[], bool], told: Callable[[], object] = str) -> None:
    """Waits until the condition holds: Prometheus takes some time to start, and a scrape may fail on a busy machine.
    `told`: what it says instead."""
    give_up_s = time.monotonic() + WAIT_S_MAX
    while time.monotonic() < give_up_s:
        try:
            if condition():
                return
        except (URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(0.2)
    pytest.fail(f"Prometheus never said so: {told()}")


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
            eventually(lambda: facts(prom) == FACTS, lambda: facts(prom))
            eventually(lambda: pending(prom) >= {"CqsDeadLetters"})
            eventually(lambda: {rule["health"] for rule in rules(prom)} == {"ok"}, lambda: rules(prom))


FACTS = {
    "up": {"": 1},
    "sent": {"orders": 4, "dead": 0, "_other": 0},
    "deleted": 1,
    "moved": 1,
    "visible": {"orders": 2, "dead": 1},
    "is a dead-letter queue": {"dead": 1},
    "requests": {"": 4},
    "has commits": True,
    "has a size": True,
    "size of messages": len("poisononetwothree"),
    "version": {"": 1},
}


def facts(prom: Prometheus) -> dict[str, object]:
    """What it knows of the two queues of `fill`."""
    visible = prom.values("cqs_messages_visible")
    return {
        "up": prom.values('up{job="cqs"}'),
        "sent": prom.values("cqs_messages_sent_total"),
        "deleted": prom.values("cqs_messages_deleted_total").get("orders"),
        "moved": prom.values("cqs_messages_dead_lettered_total").get("orders"),
        "visible": {name: visible.get(name) for name in ("orders", "dead")},
        "is a dead-letter queue": prom.values("cqs_dead_letter_queue"),
        "requests": prom.values('sum(cqs_requests_total{action="SendMessage",code="ok"})'),
        "has commits": prom.values("sum(cqs_commit_jobs_sum)").get("", 0) >= 5,
        "has a size": prom.values("cqs_store_size_bytes").get("", 0) > 4_096,
        "size of messages": prom.values("cqs_message_size_bytes_sum").get("orders"),
        "version": prom.values("cqs_build_info"),
    }


def rules(prom: Prometheus) -> list[dict[str, Any]]:
    return [rule for group in prom.ask("rules")["groups"] for rule in group["rules"]]


def pending(prom: Prometheus) -> set[str]:
    """Returns the alerts whose expression is true."""
    return {rule["name"] for rule in rules(prom) if rule["state"] in ("pending", "firing")}
