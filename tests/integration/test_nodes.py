"""Two real nodes on one real Cassandra node and one Redis: both serve every queue, also while one is restarted or
killed."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import urlopen

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from deploy.cluster.api_node import ApiNode
from deploy.cluster.cluster import Cluster, Share
from tests.integration.process import until
from tests.needs import needs

pytestmark = [needs("java", "mvn", "redis-server"), pytest.mark.slow, pytest.mark.timeout(480)]
PART, PART_S_MAX, DRAIN_S = 150, 90.0, 120.0


def sqs_at(node: ApiNode) -> boto3.client:
    return boto3.client("sqs", endpoint_url=node.endpoint, region_name="us-east-1", aws_access_key_id="000000000000",
                        aws_secret_access_key="any", config=Config(retries={"max_attempts": 0}))  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster({"dc1": Share(cassandra=1, redis=1, api=2)}) as running:
        yield running


class Load:
    """One producer and one consumer per node, which switch to the other node when theirs does not answer."""

    def __init__(self, nodes: list[ApiNode], queue: str) -> None:
        self._queue = queue
        self._is_sending = self._is_receiving = True
        self.acknowledged: list[str] = []
        self.unknown: set[str] = set()
        """Bodies whose sends got no response."""
        self.received: Counter[str] = Counter()
        self.deleted: set[str] = set()
        self.unanswered: set[str] = set()
        """Bodies that were in a lost response before they were received."""
        self._threads = [
            threading.Thread(target=work, args=(order, number))
            for number, order in enumerate((nodes, nodes[::-1]))
            for work in (self._send, self._receive)
        ]
        for thread in self._threads:
            thread.start()

    def _send(self, nodes: list[ApiNode], number: int) -> None:
        clients, turn, count = [sqs_at(node) for node in nodes], 0, 0
        while self._is_sending:
            body = f"{number}-{count}"
            count += 1
            while self._is_sending:
                try:
                    clients[turn].send_message(QueueUrl=self._url(clients[turn]), MessageBody=body)
                    self.acknowledged.append(body)
                    break
                except (BotoCoreError, ClientError):
                    self.unknown.add(body)
                    turn = 1 - turn
                    time.sleep(0.02)

    def _receive(self, nodes: list[ApiNode], _: int) -> None:
        clients, turn = [sqs_at(node) for node in nodes], 0
        while self._is_receiving:
            try:
                url = self._url(clients[turn])
                answer = clients[turn].receive_message(
                    QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1,
                    AttributeNames=["ApproximateReceiveCount"],
                )  # fmt: skip
            except (BotoCoreError, ClientError):
                turn = 1 - turn
                time.sleep(0.02)
                continue
            for message in answer.get("Messages", []):
                self._meet(clients, turn, message)

    def _meet(self, clients: list[boto3.client], turn: int, message: dict[str, Any]) -> None:
        body = message["Body"]
        if message["Attributes"]["ApproximateReceiveCount"] != "1" and not self.received[body]:
            self.unanswered.add(body)
        self.received[body] += 1
        while self._is_receiving:
            try:
                url = self._url(clients[turn])
                clients[turn].delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                self.deleted.add(body)
                break
            except (BotoCoreError, ClientError):
                turn = 1 - turn
                time.sleep(0.02)

    def _url(self, client: boto3.client) -> str:
        return f"{client.meta.endpoint_url}/000000000000/{self._queue}"

    def go_on(self) -> None:
        """Waits until PART more messages are acknowledged. Fails after PART_S_MAX."""
        count = len(self.acknowledged) + PART
        until(lambda: len(self.acknowledged) >= count, within_s=PART_S_MAX)

    def finish(self) -> None:
        """Stops sending, and stops receiving once all acknowledged messages are deleted or DRAIN_S have passed."""
        self._is_sending = False
        give_up_s = time.monotonic() + DRAIN_S
        while time.monotonic() < give_up_s and not set(self.acknowledged) <= self.deleted:
            time.sleep(0.1)
        self._is_receiving = False
        for thread in self._threads:
            thread.join()

    def facts(self) -> str:
        return (
            f"acknowledged {len(self.acknowledged)}, unknown {len(self.unknown)}, received {self.received.total()}, "
            f"duplicated {self.duplicated}, unanswered {self.unanswered}, lost {self.lost}"
        )

    @property
    def lost(self) -> set[str]:
        return set(self.acknowledged) - set(self.received)

    @property
    def duplicated(self) -> set[str]:
        """Bodies received more than once although they were sent once and their delete was acknowledged."""
        return {body for body, count in self.received.items() if count > 1 and body not in self.unknown}


def test_a_queue_made_through_one_node_works_through_the_other_at_once(cluster: Cluster) -> None:
    first, second = [sqs_at(node) for node in cluster.apis]
    for number in range(20):
        name = f"tea-{number}"
        first.send_message(QueueUrl=first.create_queue(QueueName=name)["QueueUrl"], MessageBody="two cups")

        there = second.get_queue_url(QueueName=name)["QueueUrl"]
        (message,) = second.receive_message(QueueUrl=there)["Messages"]
        first.delete_message(QueueUrl=there, ReceiptHandle=message["ReceiptHandle"])
        assert "Messages" not in second.receive_message(QueueUrl=there)


def test_one_node_leads(cluster: Cluster) -> None:
    until(lambda: sorted(map(_leads, cluster.apis)) == [False, True])


def _leads(node: ApiNode) -> bool:
    with urlopen(f"{node.endpoint}/metrics", timeout=60) as answer:
        return any(line.startswith("cqs_leader 1") for line in answer.read().decode().splitlines())


def loaded(cluster: Cluster, queue: str, end: Callable[[ApiNode], object], hidden_s: int) -> Load:
    """A load on a new queue, during which each node was stopped and restarted in turn. Messages are hidden for
    `hidden_s`: on a slow machine, a shorter time than that may run out before the delete."""
    sqs_at(cluster.apis[0]).create_queue(QueueName=queue, Attributes={"VisibilityTimeout": str(hidden_s)})
    load = Load(cluster.apis, queue)
    try:
        for node in cluster.apis:
            load.go_on()
            end(node)
            node.start()
        load.go_on()
    finally:
        load.finish()
    print(load.facts())
    return load


def test_a_rolling_restart_under_load_loses_and_repeats_nothing(cluster: Cluster) -> None:
    load = loaded(cluster, "rolling", ApiNode.stop, 60)

    assert (load.lost, load.duplicated) == (set(), set())


def test_a_killed_node_loses_nothing_and_repeats_at_most_what_it_was_handing_out(cluster: Cluster) -> None:
    load = loaded(cluster, "killed", ApiNode.kill, 8)

    assert load.lost == set()
    assert len(load.duplicated) <= 2 * 2 * 10


def waiting(cluster: Cluster, name: str, hint: str, count: int) -> list[str]:
    """Sends bodies to a new queue with this consistency hint. Returns them in send order."""
    sqs = sqs_at(cluster.apis[0])
    url = sqs.create_queue(QueueName=name, tags={"cqs:consistency-hint": hint})["QueueUrl"]
    bodies = [f"{number:03}" for number in range(count)]
    for body in bodies:
        sqs.send_message(QueueUrl=url, MessageBody=body)
    return bodies


def received_by_turns(cluster: Cluster, name: str, count: int) -> list[str]:
    """Receives one message per call from the nodes in turn, and deletes it before the next call. Returns the bodies."""
    bodies: list[str] = []
    give_up_s = time.monotonic() + 120
    clients = [sqs_at(node) for node in cluster.apis]
    while len(bodies) < count and time.monotonic() < give_up_s:
        sqs = clients[len(bodies) % 2]
        url = f"{sqs.meta.endpoint_url}/000000000000/{name}"
        try:
            for message in sqs.receive_message(QueueUrl=url).get("Messages", []):
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                bodies.append(message["Body"])
        except (BotoCoreError, ClientError):
            time.sleep(0.02)
    return bodies


def test_without_redis_the_hint_says_how_far_from_the_oldest_a_node_may_take(cluster: Cluster) -> None:
    """Return-From-Cassandra (BDQS): K = 1 keeps the order, K = 16 returns any of the 16 oldest; no message is lost."""
    strict, loose = waiting(cluster, "strict", "1", 40), waiting(cluster, "loose", "16", 40)
    (redis,) = cluster.redises
    redis.stop()
    try:
        in_order = received_by_turns(cluster, "strict", len(strict))
        at_random = received_by_turns(cluster, "loose", len(loose))
    finally:
        redis.start()

    assert in_order == strict
    assert at_random != loose and sorted(at_random) == loose
    left = list(loose)
    for body in at_random:
        assert left.index(body) < 16
        left.remove(body)
