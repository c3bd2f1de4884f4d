"""Producers and consumers that run until the server is killed, and record everything in a ledger."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.crash.ledger import Entry, Ledger
from tests.crash.raw_client import ConnectionLost, RawClient, Refused

VISIBILITY_S = 5
BACKLOG_MAX = 1_500


@dataclass
class Load:
    """One queue under load. `pending`: FIFO batches whose responses were lost, which are sent again."""

    ledger: Ledger
    url: str
    rng: random.Random
    pending: dict[str, list[Entry]] = field(default_factory=dict)
    is_killed: bool = False

    async def send(self, port: int, groups: Sequence[str]) -> None:
        """Sends batches, in order within each group, until the connection is lost."""
        async with RawClient(port) as client:
            while not self.is_killed:
                group = self.rng.choice(groups)
                if self.ledger.waiting > BACKLOG_MAX:
                    await asyncio.sleep(0.02)
                    continue
                batch = self.pending.pop(group, None)
                if batch is None:
                    batch = [self.ledger.new(group) for _ in range(self.rng.choice([1, 3, 10]))]
                try:
                    await self.send_batch(client, batch)
                except ConnectionLost:
                    if self.ledger.is_fifo:
                        self.pending[group] = batch
                    return

    async def send_batch(self, client: RawClient, batch: list[Entry]) -> None:
        by_id = {f"e{entry.number}": entry for entry in batch}
        wire: list[dict[str, Any]] = []
        for entry_id, entry in by_id.items():
            fifo = {"MessageGroupId": entry.group, "MessageDeduplicationId": f"d{entry.number}"}
            wire.append({"Id": entry_id, "MessageBody": entry.body, **(fifo if self.ledger.is_fifo else {})})
        answer = await client.call("SendMessageBatch", QueueUrl=self.url, Entries=wire)
        assert not answer.get("Failed"), answer
        for result in answer["Successful"]:
            self.ledger.sent(by_id[result["Id"]], result["MessageId"], result.get("SequenceNumber", ""))

    async def receive(self, port: int) -> None:
        """Receives, deletes most, gives some back and abandons some, until the connection is lost."""
        async with RawClient(port) as client:
            while True:
                try:
                    await self.receive_once(client, wait_s=1, keep_share=0.2)
                except ConnectionLost:
                    return

    async def receive_once(self, client: RawClient, wait_s: int, keep_share: float) -> int:
        started_s = time.monotonic()
        answer = await client.call(
            "ReceiveMessage",
            QueueUrl=self.url,
            MaxNumberOfMessages=self.rng.choice([1, 5, 10]),
            WaitTimeSeconds=wait_s,
            VisibilityTimeout=VISIBILITY_S,
            AttributeNames=["ApproximateReceiveCount"],
        )
        messages = answer.get("Messages", [])
        entries = self.ledger.received(messages, started_s, time.monotonic(), VISIBILITY_S)
        doomed: dict[str, tuple[Entry, str]] = {}
        for entry, message in zip(entries, messages, strict=False):
            if self.rng.random() >= keep_share:
                doomed[f"e{entry.number}"] = entry, message["ReceiptHandle"]
            elif self.rng.random() < 0.5:
                await self._give_back(client, entry, message["ReceiptHandle"])
        if doomed:
            await self._delete(client, doomed)
        return len(messages)

    async def _give_back(self, client: RawClient, entry: Entry, handle: str) -> None:
        self.ledger.given_back(entry)
        try:
            await client.call("ChangeMessageVisibility", QueueUrl=self.url, ReceiptHandle=handle, VisibilityTimeout=0)
        except Refused as refusal:
            assert "ReceiptHandle" in str(refusal), refusal

    async def _delete(self, client: RawClient, doomed: dict[str, tuple[Entry, str]]) -> None:
        for entry, _ in doomed.values():
            entry.is_delete_asked = True
        wire = [{"Id": entry_id, "ReceiptHandle": handle} for entry_id, (_, handle) in doomed.items()]
        answer = await client.call("DeleteMessageBatch", QueueUrl=self.url, Entries=wire)
        now_s = time.monotonic()
        for result in answer.get("Successful", []):
            doomed[result["Id"]][0].deleted_s = now_s
        for failure in answer.get("Failed", []):
            assert "expired" in failure["Message"], failure
            doomed[failure["Id"]][0].is_delete_asked = False

    async def repeat_sends(self, port: int) -> None:
        """After a restart: sends the last messages of each FIFO group again, which must get the same responses."""
        async with RawClient(port) as client:
            for batch in self.pending.values():
                await self.send_batch(client, batch)
            self.pending.clear()
            for entries in list(self.ledger.groups.values()):
                known = [entry for entry in entries if entry.is_acknowledged]
                if known:
                    await self.send_batch(client, known[-3:])

    async def drain(self, port: int, within_s: float) -> None:
        """Receives and deletes until no message is visible, in flight or delayed. Raises AssertionError if that takes
        longer than `within_s`."""
        async with RawClient(port) as client:
            give_up = time.monotonic() + within_s
            while time.monotonic() < give_up:
                if not await self.receive_once(client, wait_s=1, keep_share=0) and not await self._left(client):
                    return
        raise AssertionError(f"{self.ledger.name} did not run empty")

    async def _left(self, client: RawClient) -> int:
        names = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "NotVisible", "Delayed")]
        answer = await client.call("GetQueueAttributes", QueueUrl=self.url, AttributeNames=names)
        return sum(map(int, answer["Attributes"].values()))
