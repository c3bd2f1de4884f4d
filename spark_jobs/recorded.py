"""Yesterday's traffic against today's server: plays the sends of a journal again, with their queues, sizes, message
groups and pauses, and bodies that check themselves.

    journal ─► sends (queue, tenant, bytes, offset) ─► a task a few queues, in order of time ─► the server
                                                       receivers beside them, as in any replay

Senders and receivers are two Spark jobs at a time and share the cores, so the session needs at least two. `speed` 1 is
the original one, 2 twice as fast, 0 as fast as it goes. Each task sends through LANES connections, so that a slow
answer does not hold up what comes after it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zlib import crc32

from pyspark import StorageLevel, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.arguments import literal
from spark_jobs.players import HELD_MAX, OBSERVATION, Observation, Part, Player
from spark_jobs.progress import shown
from spark_jobs.replay import Tell, keep, parts_of, played, reported
from spark_jobs.session import driver_of
from spark_jobs.tables import is_event
from spark_jobs.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa

LANES = 8
START_S = 3.0
"""Until all tasks run."""


@dataclass(frozen=True, slots=True)
class Row:
    """A send as it was recorded."""

    queue: str
    tenant: str
    bytes: int
    offset_ms: int


def sends_in(events: DataFrame) -> DataFrame:
    """What was sent: `queue`, `is_fifo`, `tenant`, `bytes`, and `offset_ms` from the first send of all."""
    sent = events.where(is_event(EventName.SENT))
    first = sent.agg(F.min("at_ms").alias("first_ms"))
    offset = (F.col("at_ms") - F.col("first_ms")).alias("offset_ms")
    return sent.crossJoin(F.broadcast(first)).select("queue", "is_fifo", "tenant", "bytes", offset)


def replay_recorded(
    spark: SparkSession, sends: DataFrame, endpoints: Sequence[str], run: str, output: str, *, speed: float, tell: Tell
) -> DataFrame:
    """Plays them once, with two receivers a queue, and returns the observations, which are added to `output`."""
    named = sends.groupBy("queue").agg(F.max("is_fifo").alias("is_fifo"), F.max("offset_ms").alias("last_ms")).collect()
    longest_ms = max((row["last_ms"] for row in named), default=0)
    load = Workload(
        "recorded", senders=0, receivers=2, sending_ms=int(longest_ms / speed if speed else 0) + int(START_S * 1_000)
    )
    urls, parts = _queues({row["queue"]: row["is_fifo"] for row in named}, load, endpoints, run)
    half = max(1, spark.sparkContext.defaultParallelism // 2)
    ordered = _in_order(sends, max(1, min(half, len(named))))
    count = ordered.count()
    with shown(tell, *driver_of(spark)) as address, ThreadPoolExecutor(1) as beside:
        receiving = beside.submit(lambda: keep(played(spark, parts, load, address, half, count), output, "receivers"))
        start_s = time.time() + START_S

        def send(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            rows = (Row(**row) for batch in batches for row in batch.to_pylist())
            return reported(_sent(rows, urls, endpoints, run, start_s, speed), address)

        keep(ordered.mapInArrow(send, OBSERVATION), output, "senders")
        receiving.result()
    ordered.unpersist()
    return spark.read.parquet(literal(output)).where(f"run = '{run}'")


def _in_order(sends: DataFrame, tasks: int) -> DataFrame:
    """Persisted, so that a long journal is sorted before its time begins to run."""
    ordered = sends.drop("is_fifo").repartition(tasks, "queue").sortWithinPartitions("offset_ms")
    return ordered.persist(StorageLevel.DISK_ONLY)


def _queues(
    queues: Mapping[str, bool], load: Workload, endpoints: Sequence[str], run: str
) -> tuple[dict[str, tuple[str, str]], list[Part]]:
    """New queues, by the old ones' names: name and URL; and their receivers."""
    urls: dict[str, tuple[str, str]] = {}
    parts: list[Part] = []
    for number, (name, is_fifo) in enumerate(sorted(queues.items())):
        receivers = parts_of(
            Workload("queue", senders=0, receivers=load.receivers, is_fifo=is_fifo),
            endpoints,
            f"{run}-{number}",
            number,
        )
        urls[name] = (receivers[0].queue, receivers[0].url)
        parts += [replace(part, run=run, name=f"r{number}-{part.number}") for part in receivers]
    return urls, parts


def _task_number() -> int:
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _load_of(queue_name: str) -> Workload:
    return Workload("recorded", is_fifo=queue_name.endswith(".fifo"))


def _sent(
    rows: Iterator[Row],
    urls: Mapping[str, tuple[str, str]],
    endpoints: Sequence[str],
    run: str,
    start_s: float,
    speed: float,
) -> Iterator[list[Observation]]:
    """Sends each row at its time, and yields what was seen."""
    task = _task_number()
    waiting: queue.Queue[tuple[int, Row] | None] = queue.Queue(LANES)
    seen: queue.Queue[Observation | BaseException | None] = queue.Queue(HELD_MAX)

    def lane(number: int) -> None:
        players: dict[str, Player] = {}
        try:
            while (item := waiting.get()) is not None:
                index, row = item
                name, url = urls[row.queue]
                if name not in players:
                    seed = crc32(f"{task} {number} {name}".encode())
                    endpoint = endpoints[number % len(endpoints)]
                    part = Part(run, f"s{task}-{number}-{len(players)}", True, endpoint, name, url, 0, seed)
                    players[name] = Player(part, _load_of(name), seen.put)
                players[name].send(index, row.bytes, row.tenant)
            seen.put(None)
        except BaseException as error:
            seen.put(error)

    def feed() -> None:
        for index, row in enumerate(rows):
            due_s = start_s + (row.offset_ms / 1_000 / speed if speed else 0.0)
            time.sleep(max(0.0, due_s - time.time()))
            waiting.put((index, row))
        for _ in range(LANES):
            waiting.put(None)

    lanes = [threading.Thread(target=lane, args=(number,), daemon=True) for number in range(LANES)]
    for thread in (*lanes, threading.Thread(target=feed, daemon=True)):
        thread.start()
    yield from _until_all_ended(seen)


def _until_all_ended(seen: queue.Queue[Observation | BaseException | None]) -> Iterator[list[Observation]]:
    """What the lanes see, one by one; raises what broke a lane."""
    left = LANES
    while left:
        one = seen.get()
        if isinstance(one, BaseException):
            raise one
        if one is None:
            left -= 1
        else:
            yield [one]
