"""Writers and readers of numbered messages with checksums, and the drain afterwards. A history records all they see.

writers   each has its own FIFO group, sends batches of 1 or 10, and waits for each response before the next batch
readers   choose any queue with messages left, receive up to 10, process and delete them; some quit before the delete
drain     readers continue until all acknowledged messages are deleted; once the last lease has expired, each queue is
          polled until it is empty, which reveals messages that were forgotten or that reappear
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.drills.client import Answer, Client
from tests.drills.history import Delete, Empty, History, LetGo, Outcome, Receive, Send, body_of, number_of

IDLE_S, BATCH = 0.02, 10


@dataclass(frozen=True)
class Load:
    """The size and shape of a load. The last queue is FIFO. `rate`: messages per second in total; 0 = unlimited.
    `backlog_max`: writers pause while more acknowledged messages than this are not deleted."""

    messages: int = 2_000
    queues: int = 10
    writers: int = 8
    readers: int = 8
    body_bytes: int = 1_000
    hidden_s: int = 3
    processing_s: float = 0.005
    quit_share: float = 0.0
    rate: float = 0.0
    backlog_max: int = 100_000
    drain_s_max: float = 60.0
    tries: int = 8

    def __str__(self) -> str:
        pace = f"{self.rate:g}/s" if self.rate else "unpaced"
        return (
            f"{self.messages:,} × {self.body_bytes} B in {self.queues} queues (one FIFO), {self.writers} writers "
            f"{pace}, {self.readers} readers, {self.processing_s * 1000:g} ms, visibility {self.hidden_s} s"
        )

    def larger(self, messages: int) -> Load:
        """The long version, with the processing time of the CQS paper; a million messages at three times the rate."""
        load = replace(self, rate=3 * self.rate, readers=3 * self.readers) if messages >= 1_000_000 else self
        return replace(load, messages=messages, processing_s=0.045, hidden_s=10, drain_s_max=600.0)


@dataclass
class Run:
    """One run of a load."""

    load: Load
    ports: Callable[[], Sequence[int]]
    seed: int
    history: History = field(default_factory=History)
    urls: dict[str, str] = field(default_factory=dict)
    """Queue URLs by name, in order of creation; filled by `create`."""

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._numbers: Counter[str] = Counter()
        self._sent = 0
        self._answers = 0
        self._waiting: dict[str, set[str]] = {}
        self._seen_off: set[str] = set()
        self._is_over = False
        self._started_s = 0.0

    @property
    def sent(self) -> int:
        """How many messages the writers have finished, acknowledged or not."""
        return self._sent

    @property
    def outstanding(self) -> int:
        """How many acknowledged messages nobody has deleted yet."""
        return sum(map(len, self._waiting.values()))

    async def reached(self, share: float) -> None:
        """Waits until that share of the messages has been sent."""
        while self._sent < share * self.load.messages:  # noqa: ASYNC110
            await asyncio.sleep(IDLE_S)

    async def create(self, **attributes: str) -> None:
        """Creates the queues."""
        client = self._client()
        names = [f"q{number}" for number in range(self.load.queues - 1)] + ["last.fifo"]
        for name in names:
            fifo = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
            answer = await client.call("CreateQueue", QueueName=name, Attributes=attributes | fifo)
            assert answer.outcome is Outcome.DONE, answer.content
            self.urls[name] = str(answer.content["QueueUrl"])
            self._waiting[name] = set()
        client.close()

    async def write(self) -> None:
        """Sends all messages."""
        self._started_s = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            shares = [len(range(writer, self.load.messages, self.load.writers)) for writer in range(self.load.writers)]
            for writer, share in enumerate(shares):
                tasks.create_task(self._write(f"g{writer}", share))

    async def read(self) -> None:
        """Receives and deletes until `finish` ends the drain."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self.load.readers):
                tasks.create_task(self._read())

    async def finish(self) -> None:
        """Drains the queues: readers continue for at most `drain_s_max`, then each queue is polled until empty."""
        give_up_s = time.monotonic() + self.load.drain_s_max
        while self.outstanding and time.monotonic() < give_up_s:  # noqa: ASYNC110
            await asyncio.sleep(IDLE_S)
        self._is_over = True
        await asyncio.sleep(max(0.0, self.history.last_lease_s() + self.load.hidden_s + 0.1 - time.monotonic()))
        await self.ask_all()

    async def ask_all(self) -> None:
        """Polls each queue until two receives in a row, of 1 s each, are empty; deletes what it receives."""
        async with asyncio.TaskGroup() as tasks:
            for name in self.urls:
                tasks.create_task(self._ask(name))

    def _client(self) -> Client:
        return Client(self.ports, self.history, random.Random(self._rng.random()), tries=self.load.tries)

    async def _write(self, group: str, share: int) -> None:
        client, rng = self._client(), random.Random(self._rng.random())
        while share:
            await self._pace()
            name = rng.choice(list(self.urls))
            size = min(share, rng.choice([1, BATCH, BATCH]))
            share -= size
            await self._send(client, name, group if name.endswith(".fifo") else "", size)
            self._sent += size
        client.close()

    async def _pace(self) -> None:
        while self.outstanding > self.load.backlog_max:  # noqa: ASYNC110
            await asyncio.sleep(IDLE_S)
        if self.load.rate:
            due_s = self._started_s + self._sent / self.load.rate
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))

    async def _send(self, client: Client, name: str, group: str, size: int) -> None:
        """Sends a batch. Retries entries that failed individually, which SDKs leave to their users."""
        first = self._numbers[name]
        self._numbers[name] += size
        started_s, wire, unknown = time.monotonic(), self._wire(name, group, range(first, first + size)), 0
        known: dict[int, str] = {}
        for _ in range(self.load.tries):
            answer = await client.call("SendMessageBatch", QueueUrl=self.urls[name], Entries=wire)
            unknown += answer.unknown
            known |= {int(one["Id"]): str(one["MessageId"]) for one in answer.content.get("Successful", [])}
            wire = [entry for entry in wire if int(entry["Id"]) not in known]
            if not wire or answer.outcome is not Outcome.DONE:
                break
            unknown += 1
        ended_s = time.monotonic()
        for number in range(first, first + size):
            message_id = known.get(number, "")
            self.history.sends.append(Send(name, number, group, started_s, ended_s, message_id, unknown))
            if message_id and message_id not in self._seen_off:
                self._waiting[name].add(message_id)

    def _wire(self, name: str, group: str, numbers: range) -> list[dict[str, Any]]:
        wire: list[dict[str, Any]] = []
        for number in numbers:
            fifo = {"MessageGroupId": group, "MessageDeduplicationId": f"{name}-{number}"} if group else {}
            wire.append({"Id": str(number), "MessageBody": body_of(name, number, self.load.body_bytes), **fifo})
        return wire

    async def _read(self) -> None:
        client, rng = self._client(), random.Random(self._rng.random())
        while not self._is_over:
            name = rng.choice([name for name, waiting in self._waiting.items() if waiting] or list(self.urls))
            messages = await self._receive(client, name, 1)
            if not messages:
                continue
            await asyncio.sleep(self.load.processing_s)
            if rng.random() < self.load.quit_share:
                self.history.let_go += [LetGo(name, one["MessageId"], time.monotonic(), False) for one in messages]
            else:
                await self._delete(client, name, messages)
        client.close()

    async def _receive(self, client: Client, name: str, wait_s: int) -> list[dict[str, Any]]:
        answer = await client.call(
            "ReceiveMessage",
            wait_s=wait_s,
            QueueUrl=self.urls[name],
            MaxNumberOfMessages=BATCH,
            WaitTimeSeconds=wait_s,
            VisibilityTimeout=self.load.hidden_s,
            AttributeNames=["ApproximateReceiveCount"],
        )
        messages: list[dict[str, Any]] = answer.content.get("Messages", [])
        self._answers += 1
        if not messages and answer.outcome is Outcome.DONE:
            self.history.empties.append(Empty(name, answer.started_s, answer.ended_s))
        for place, message in enumerate(messages):
            self.history.receives.append(self._received(name, message, answer, place))
        return messages

    def _received(self, name: str, message: dict[str, Any], answer: Answer, place: int) -> Receive:
        return Receive(
            name,
            number_of(name, message["Body"]),
            message["MessageId"],
            int(message["Attributes"]["ApproximateReceiveCount"]),
            answer.started_s,
            answer.ended_s,
            self.load.hidden_s,
            self._answers,
            place,
        )

    async def _delete(self, client: Client, name: str, messages: list[dict[str, Any]]) -> None:
        started_s = time.monotonic()
        wire = [{"Id": str(place), "ReceiptHandle": one["ReceiptHandle"]} for place, one in enumerate(messages)]
        answer = await client.call("DeleteMessageBatch", QueueUrl=self.urls[name], Entries=wire)
        ended_s = time.monotonic()
        done = {int(one["Id"]) for one in answer.content.get("Successful", [])}
        failed = {int(one["Id"]): bool(one["SenderFault"]) for one in answer.content.get("Failed", [])}
        for place, message in enumerate(messages):
            outcome = Outcome.DONE if place in done else Outcome.UNKNOWN
            if failed.get(place) and not answer.unknown:
                outcome = Outcome.REFUSED
            self.history.deletes.append(Delete(name, message["MessageId"], started_s, ended_s, outcome))
            if outcome is not Outcome.REFUSED:
                self._seen_off.add(message["MessageId"])
                self._waiting[name].discard(message["MessageId"])

    async def _ask(self, name: str) -> None:
        client, silent = self._client(), 0
        while silent < 2:
            messages = await self._receive(client, name, 1)
            silent = 0 if messages else silent + 1
            if messages:
                await self._delete(client, name, messages)
        client.close()
