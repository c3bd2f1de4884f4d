"""Many concurrent senders and receivers on one queue: every message arrives exactly once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.sdk.behaviour.talk import counts, receive

SENDERS, RECEIVERS, BATCHES = 4, 4, 12
EVERY = Counter(
    f"{sender}-{batch}-{place}" for sender in range(SENDERS) for batch in range(BATCHES) for place in range(10)
)
DONE_S_MAX = 120.0


@pytest.mark.parametrize("wait", [0, 1])
def test_everything_sent_in_parallel_is_received_once(sqs: Any, new_queue: Callable[..., str], wait: int) -> None:
    url = new_queue()
    received: Counter[str] = Counter()

    def send(sender: int) -> None:
        for batch in range(BATCHES):
            bodies = {f"e{place}": f"{sender}-{batch}-{place}" for place in range(10)}
            entries = [{"Id": entry_id, "MessageBody": body} for entry_id, body in bodies.items()]
            assert len(sqs.send_message_batch(QueueUrl=url, Entries=entries)["Successful"]) == 10

    def drain() -> list[str]:
        mine: list[str] = []
        give_up = time.monotonic() + DONE_S_MAX
        while received.total() < EVERY.total() and time.monotonic() < give_up:
            messages = receive(sqs, url, wait=wait)
            received.update(message["Body"] for message in messages)
            if messages:
                entries = [
                    {"Id": f"e{place}", "ReceiptHandle": message["ReceiptHandle"]}
                    for place, message in enumerate(messages)
                ]
                assert not sqs.delete_message_batch(QueueUrl=url, Entries=entries).get("Failed")
            mine += [message["Body"] for message in messages]
        return mine

    with ThreadPoolExecutor(SENDERS + RECEIVERS) as pool:
        drains = [pool.submit(drain) for _ in range(RECEIVERS)]
        for sent in [pool.submit(send, sender) for sender in range(SENDERS)]:
            sent.result()
        came = Counter(body for done in drains for body in done.result())
    assert came == EVERY
    assert counts(sqs, url) == (0, 0, 0)


def test_purge_under_a_long_poll_leaves_the_poll_waiting_for_new_messages(
    sqs: Any, new_queue: Callable[..., str], poll: Any, until_polls_wait: Callable[..., None]
) -> None:
    url = new_queue()
    sqs.send_message(QueueUrl=url, MessageBody="delayed", DelaySeconds=900)
    waiting = poll(url)
    until_polls_wait()
    sqs.purge_queue(QueueUrl=url)
    sqs.send_message(QueueUrl=url, MessageBody="new")
    assert [message["Body"] for message in waiting.result()] == ["new"]
    assert counts(sqs, url) == (0, 1, 0)
