"""The journal's cost of an event, step by step, without a server:

    python -m benchmarks.journal_steps [--batch 10] [--queues 1] [--messages 40000] [--runs 9]

Each message causes three events: sent, received, deleted; calls use the queues in turn. Prints microseconds of CPU per
event, the minimum over the runs, with warm CPU caches; in a server, between two requests, the event loop's step takes
two to three times as long. There are more messages than the recorder remembers addresses of, so that none is known from
the run before.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

from cqs import digests
from cqs.cache.interface import Received
from cqs.clock import SystemClock
from cqs.ids import Addresses
from cqs.journal import files
from cqs.journal.buffer import Frame
from cqs.journal.calls import unpack
from cqs.journal.journal import Journal
from cqs.journal.lines import Numberer
from cqs.journal.rules import JournalRules
from cqs.message import Message
from cqs.queue import Queue

_CLIENT = "AKIAIOSFODNN7EXAMPLE"
_EVENTS = 3
"""Events per message."""


def queue_of(uid: int) -> Queue:
    return Queue(account="000000000000", name=f"orders-{uid}", region="us-east-1", uid=uid, created_ms=1, modified_ms=1)


def received_of(message: Message, number: int) -> Received:
    """Returns the message's first receive."""
    return Received(
        address=message.address,
        sent_ms=message.sent_ms,
        group=None,
        sequence=0,
        message=message,
        receive_count=1,
        first_receive_ms=message.sent_ms,
        receive_number=number,
        received_ms=message.sent_ms + 1,
        hidden_until_ms=message.sent_ms + 30_001,
    )


class Steps:
    """Records the same messages in each run, `batch` per call."""

    def __init__(self, count: int, batch: int, queues: int, runs: int) -> None:
        self._batch, self._runs = batch, runs
        self._queues = [queue_of(uid) for uid in range(1, queues + 1)]
        self._clock, rng = SystemClock(), random.Random(1)
        addresses = Addresses(self._clock, rng)
        self._messages = [self._message(addresses.next(), rng.randbytes(512).hex()) for _ in range(count)]
        self._received = [received_of(message, number) for number, message in enumerate(self._messages)]
        self._addresses = [message.address for message in self._messages]

    def _message(self, address: int, body: str) -> Message:
        now_ms = self._clock.now_ms()
        return Message(address=address, body=body, sent_ms=now_ms, sender_id=_CLIENT, md5=digests.raw_of_body(body))

    def tell(self) -> list[Frame]:
        """Records all events, like the event loop. Returns the frames."""
        journal, frames = Journal(JournalRules(Path("unused"), "api-1"), self._clock), list[Frame]()
        for at, queue in zip(range(0, len(self._messages), self._batch), cycle(self._queues), strict=False):
            to = at + self._batch
            journal.sent(queue, self._messages[at:to])
            journal.received(queue, self._received[at:to], is_from_store=False, receiver_id=_CLIENT)
            journal.deleted(queue, self._addresses[at:to])
        while (frame := journal.buffer.take()) is not None:
            frames.append(frame)
        return frames

    def least_us(self, step: Callable[[], object]) -> float:
        """Returns the minimum CPU per event over the runs."""
        costs: list[int] = []
        for _ in range(self._runs):
            start = time.process_time_ns()
            step()
            costs.append(time.process_time_ns() - start)
        return min(costs) / len(self._messages) / _EVENTS / 1_000


def blocks_of(frames: list[Frame]) -> Iterator[bytes]:
    """Builds blocks like the recorder."""
    numberer = Numberer("api-1", "0123456789abc")
    return (numberer.encode(unpack(frame.data)[1]).block for frame in frames)


def costs_of(steps: Steps) -> str:
    """Measures and returns a line of the table."""
    frames = steps.tell()
    block = b"".join(blocks_of(frames))
    events = sum(frame.lines for frame in frames)
    told_us = steps.least_us(steps.tell)
    made_us = steps.least_us(lambda: deque(blocks_of(frames), 0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, files.name_of("api-1", "0123456789abc", 0, 1))

        def finish() -> None:
            path.with_suffix(".gz").unlink(missing_ok=True)
            path.write_bytes(block)
            files.finish_leftovers(path.parent)

        finished_us = steps.least_us(finish)
        packed_bytes = path.with_suffix(".gz").stat().st_size
    told_bytes = sum(len(frame.data) for frame in frames)
    return (
        f"us an event: told {told_us:.2f}, made into text {made_us:.2f}, written and compressed {finished_us:.2f};   "
        f"bytes: told {told_bytes / events:.0f}, text {len(block) / events:.0f}, packed {packed_bytes / events:.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.journal_steps",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--batch", type=int, default=1, help="messages per call")
    parser.add_argument("--queues", type=int, default=1)
    parser.add_argument("--messages", type=int, default=40_000)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    print(costs_of(Steps(options.messages, options.batch, options.queues, options.runs)))


if __name__ == "__main__":
    main()
