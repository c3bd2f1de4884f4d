"""Senders and receivers: what one task of a replay runs, each client in a thread with its own connection. Every call is
recorded, whatever its outcome.

A send with an unknown outcome is retried with the same index (and on a FIFO queue with the same deduplication ID), as
clients do; the audit distinguishes such repeats from the queue's duplicates.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from spark_jobs.client import CallFailed, Client, Content, OutcomeUnknown, attribute_bytes, body_of, content_of
from spark_jobs.errors import EndpointFailed
from spark_jobs.observation import Observation, Observe
from spark_jobs.workload import Workload, tenant_rates

TRIES_MAX = 50
MESSAGE_BYTES_MAX = 1_048_576
RETRY_S = 0.2
PATIENCE_S = 60.0
"""How long a receiver that gets nothing waits for sends still in progress, and a sender for an answer."""
HELD_MAX = 10_000
"""Maximum number of observations waiting to be written."""


@dataclass(frozen=True, slots=True)
class Part:
    """One client of a run."""

    run: str
    name: str
    is_sender: bool
    endpoint: str
    queue: str
    url: str
    number: int
    """Its number among the senders, or receivers, of its queue."""
    seed: int


IsSending = Callable[[], bool]
"""Whether any task of the run still has unacknowledged sends."""


def nobody_sends() -> bool:
    return False


def play(parts: list[Part], workload: Workload, is_sending: IsSending = nobody_sends) -> Iterator[list[Observation]]:
    """Runs all the clients and yields their observations as they are made, until the last client ends. Raises the
    exception of a client that fails."""
    seen: queue.Queue[Observation | BaseException | None] = queue.Queue(HELD_MAX)

    def run(part: Part) -> None:
        try:
            Player(part, workload, seen.put, is_sending).run()
            seen.put(None)
        except BaseException as error:
            seen.put(error)

    for part in parts:
        threading.Thread(target=run, args=(part,), name=part.name, daemon=True).start()
    left = len(parts)
    while left:
        batch: list[Observation] = []
        item = seen.get()
        while True:
            if isinstance(item, BaseException):
                raise item
            if item is None:
                left -= 1
            else:
                batch.append(item)
            if len(batch) >= 1_000 or seen.empty():
                break
            item = seen.get()
        if batch:
            yield batch


class Player:
    """One client."""

    def __init__(self, part: Part, workload: Workload, observe: Observe, is_sending: IsSending = nobody_sends) -> None:
        self._part = part
        self._workload = workload
        self._rng = random.Random(part.seed)
        self._client = Client(part.endpoint, part.name, self._rng, workload.drop_probability)
        self._observe = observe
        self._is_sending = is_sending
        self._unanswered = 0
        self._comes_again = bool(workload.quit_probability or workload.drop_probability)

    def run(self) -> None:
        if self._part.is_sender:
            self._send_all()
        else:
            self._receive_all()
        self._client.close()

    def _send_all(self) -> None:
        load, part = self._workload, self._part
        start_s = time.monotonic() + load.ramp_ms * part.number / 1_000
        gap_s = load.senders / load.send_rate if load.send_rate else 0.0
        start_s += gap_s * part.number / max(1, load.senders)
        for index in range(load.messages):
            time.sleep(max(0.0, start_s + index * gap_s - time.monotonic()))
            group = f"t{self._tenant()}" if load.tenants else "g" if load.is_fifo else ""
            self.send(index, load.bytes, group)

    def _tenant(self) -> int:
        tenants = self._workload.tenants
        return self._rng.choices(range(tenants), cum_weights=tenant_rates(tenants))[0]

    def send(self, index: int, size: int, group: str, delay_s: int = 0) -> None:
        """Sends a message, with a body of `size` bytes or the largest possible one, until it is acknowledged. Raises
        EndpointFailed after TRIES_MAX tries if the last one was refused, because the server or the queue is not what
        the run expects, or if none was answered within PATIENCE_S, because every message would have to wait as long."""
        part = self._part
        content = Content(part.run, part.name, index, True)
        size = min(size, MESSAGE_BYTES_MAX - attribute_bytes(content))
        body = body_of(part.run, part.name, index, size, self._rng)
        dedup_id = f"{part.run}-{part.name}-{index}" if self._workload.is_fifo else ""
        first_s = time.monotonic()
        for tries in count(1):
            outcome, why = self._send_once(body, content, group, dedup_id, delay_s)
            if outcome == "ok":
                return
            if tries >= TRIES_MAX and outcome == "failed":
                raise EndpointFailed(f"{part.endpoint} refused a send {TRIES_MAX} times: {why}")
            if tries >= TRIES_MAX and time.monotonic() - first_s >= PATIENCE_S:
                raise EndpointFailed(f"{part.endpoint} has not answered a send for {PATIENCE_S:g} s: {why}")
            time.sleep(RETRY_S)

    def _send_once(self, body: str, content: Content, group: str, dedup_id: str, delay_s: int) -> tuple[str, str]:
        """The outcome, and its reason."""
        outcome, message_id, why, began = "ok", "", "", _Began()
        try:
            message_id = self._client.send(self._part.url, body, content, group, dedup_id, delay_s)
        except OutcomeUnknown as error:
            outcome, why = error.outcome, str(error)
        except CallFailed as error:
            outcome, why = "failed", str(error)
        self._see("send", outcome, began, sender=content.sender, index=content.index, message_id=message_id)
        return outcome, why

    def _receive_all(self) -> None:
        """Receives until nothing has come for as long as something could still come: hidden messages come after their
        timeout, and messages still being sent after their send. When all is sent and nothing comes, calls are no longer
        lost on purpose: each might have taken a message, which would have to be waited for."""
        load = self._workload
        came_s = time.monotonic() + (0.0 if load.is_two_phase else load.sending_s)
        until_s = came_s + self._idle_s()
        while time.monotonic() < until_s:
            if self._receive():
                came_s = max(came_s, time.monotonic())
                until_s = came_s + self._idle_s()
                self._client.drop_probability = load.drop_probability
            elif time.monotonic() < came_s + PATIENCE_S and self._is_sending():
                until_s = max(until_s, time.monotonic() + self._idle_s())
            else:
                self._client.drop_probability = 0.0

    def _idle_s(self) -> float:
        return self._workload.wait_s + 2.0 + (self._workload.visibility_s if self._comes_again else 0.0)

    def _receive(self) -> bool:
        """Whether a message came, or may have come and was lost with the answer."""
        load, part, began = self._workload, self._part, _Began()
        try:
            messages = self._client.receive(part.url, load.receive_max, load.wait_s)
        except OutcomeUnknown as error:
            self._see("receive", error.outcome, began)
            time.sleep(RETRY_S)
            self._comes_again = True
            self._unanswered += 1
            return self._unanswered <= TRIES_MAX
        except CallFailed:
            self._see("receive", "failed", began)
            time.sleep(RETRY_S)
            return False
        self._unanswered = 0
        if not messages:
            self._see("receive", "empty", began)
        for message in messages:
            content = content_of(message["Body"]) or Content("", "", -1, False)
            known: dict[str, Any] = {
                "sender": content.sender,
                "index": content.index,
                "message_id": str(message["MessageId"]),
            }
            self._see("receive", "ok", began, **known, is_intact=content.is_intact)
            time.sleep(load.process_ms / 1_000)
            if self._rng.random() < load.quit_probability:
                self._see("delete", "quit", _Began(), **known)
                self._client.close()
                return True
            self._delete(message["ReceiptHandle"], known)
        return bool(messages)

    def _delete(self, receipt: str, known: dict[str, Any]) -> None:
        for _ in range(TRIES_MAX):
            outcome, began = "ok", _Began()
            try:
                self._client.delete(self._part.url, receipt)
            except OutcomeUnknown as error:
                outcome = error.outcome
            except CallFailed:
                outcome = "failed"
            self._see("delete", outcome, began, **known)
            if outcome in ("ok", "failed"):
                return
            time.sleep(RETRY_S)

    def _see(self, event: str, outcome: str, began: _Began, **known: Any) -> None:
        part, took_ms = self._part, began.took_ms()
        self._observe(
            Observation(part.run, part.name, part.queue, event, outcome, at_ms=began.at_ms, took_ms=took_ms, **known)
        )


class _Began:
    """When a call started."""

    def __init__(self) -> None:
        self.at_ms = time.time_ns() // 1_000_000
        self._start_s = time.perf_counter()

    def took_ms(self) -> float:
        return round((time.perf_counter() - self._start_s) * 1_000, 3)
