"""Fair queues: a noisy tenant of a standard queue is served after the quiet ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.sdk.behaviour.talk import bodies, receive, receive_all

NewQueue = Callable[..., str]


def send_for_tenant(sqs: Any, url: str, tenant: str | None, count: int) -> None:
    options = {} if tenant is None else {"MessageGroupId": tenant}
    for start in range(0, count, 10):
        batch = [
            {"Id": str(number), "MessageBody": f"{tenant}", **options}
            for number in range(start, min(start + 10, count))
        ]
        sqs.send_message_batch(QueueUrl=url, Entries=batch)


def test_quiet_tenant_overtakes_a_noisy_one(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send_for_tenant(sqs, url, "noisy", 100)
    receive_all(sqs, url, 50)
    send_for_tenant(sqs, url, "quiet", 3)
    assert bodies(receive(sqs, url, 5)) == ["quiet"] * 3 + ["noisy"] * 2


def test_noisy_tenant_is_neither_dropped_nor_capped(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send_for_tenant(sqs, url, "noisy", 80)
    assert len(receive_all(sqs, url, 80)) == 80


def test_of_several_noisy_tenants_the_one_with_fewest_in_flight_comes_first(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send_for_tenant(sqs, url, "heavy", 50)
    receive_all(sqs, url, 50)
    send_for_tenant(sqs, url, "light", 40)
    receive_all(sqs, url, 40)
    send_for_tenant(sqs, url, "heavy", 5)
    send_for_tenant(sqs, url, "light", 5)
    assert bodies(receive(sqs, url, 1)) == ["light"]


def test_messages_without_a_group_are_no_tenants(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send_for_tenant(sqs, url, None, 100)
    receive_all(sqs, url, 50)
    send_for_tenant(sqs, url, "quiet", 1)
    assert bodies(receive(sqs, url, 1)) == ["None"]
