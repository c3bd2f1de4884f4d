"""Replays recorded traffic against a server: plays the sends of a journal again, with their queues, sizes, message
groups, delays and pauses, and with self-checking bodies.

    journal ─► sends (queue, tenant, bytes, delay, offset) ─► one task per few queues, in order of time ─► the server
                                                              receivers beside them, as in any replay

Senders and receivers are two concurrent Spark jobs that share the cores, so the session needs at least two. `speed` 1
is the original speed, 2 twice as fast, 0 as fast as possible, without delays. Each task sends through LANES
connections, so that a slow answer holds up nothing after it, except in its own group of a FIFO queue, whose order is
kept.
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
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.arguments import literal
from spark_jobs.counted import counted
from spark_jobs.errors import NoJournal
from spark_jobs.events import Journal
from spark_jobs.lanes import Turns
from spark_jobs.observation import OBSERVATION, Observation
from spark_jobs.players import HELD_MAX, Part, Player
from spark_jobs.progress import shown
from spark_jobs.replay import Tell, keep, parts_of, played, reported
from spark_jobs.session import driver_of
from spark_jobs.staged import united
from spark_jobs.tables import is_event
from spark_jobs.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa

LANES = 8
START_S = 3.0
"""Time for all tasks to start."""


@dataclass(frozen=True, slots=True)
class Row:
    """A send as it was recorded."""

    queue: str
    is_fifo: bool
    tenant: str
    bytes: int
    """Of its body."""
    delay_ms: int
    offset_ms: int


def sends_in(events: DataFrame) -> DataFrame:
    """What was sent: `queue` (with its account), `is_fifo`, `tenant`, `bytes`, `delay_ms` (its own; messages in FIFO
    queues have none), `offset_ms` from the very first send, and `place`, the order of sends at the same moment.
    Within a group of a FIFO queue, no send is earlier than its predecessor, whatever the clocks of the nodes that
    logged them."""
    sent = events.where(is_event(EventName.SENT))
    first = sent.agg(F.min("at_ms").alias("first_ms"))
    group = Window.partitionBy("account", "queue", "tenant").orderBy("sequence")
    so_far_ms = F.max("at_ms").over(group.rowsBetween(Window.unboundedPreceding, 0))
    delay_ms = F.greatest(F.col("visible_ms") - F.col("sent_ms"), F.lit(0))
    standard = sent.where(~F.col("is_fifo")).withColumns({"told_ms": F.col("at_ms"), "delay_ms": delay_ms})
    fifo = sent.where("is_fifo").withColumns({"told_ms": so_far_ms, "delay_ms": F.lit(0)})
    return (
        united(standard, fifo)
        .crossJoin(F.broadcast(first))
        .select(
            F.concat_ws("/", "account", "queue").alias("queue"),
            "is_fifo",
            "tenant",
            "bytes",
            F.col("delay_ms").cast("long").alias("delay_ms"),
            (F.col("told_ms") - F.col("first_ms")).alias("offset_ms"),
            F.struct("sequence", "node", "number").alias("place"),
        )
    )


def what_is_played(sends: DataFrame, recorded: Journal, folders: Sequence[str], speed: float) -> str:
    """How much of the journal in these folders is played, and how long that takes, in words. Raises NoJournal when
    there is nothing to play."""
    whole = recorded.integrity
    messages, last_ms = sends.agg(F.count("*"), _last_ms()).collect()[0]
    if not messages:
        raise NoJournal(f"No message was sent according to {', '.join(folders)}: there is nothing to play.")
    length = f", {_length_s(last_ms, speed):.0f} s long" if speed else ""
    sampled = f", of which one in {whole.sampled} was recorded" if whole.sampled > 1 else ""
    gaps = f", without those in its {counted(len(whole.gaps), 'gap(|s)')}" if whole.gaps else ""
    return f"{counted(messages, 'message(|s)')} of {', '.join(folders)}{sampled}{gaps}{length}"


def _last_ms() -> Column:
    """When the last of the sends is due, from the very first one; delays included."""
    return F.max(F.col("offset_ms") + F.col("delay_ms")).alias("last_ms")


def _length_s(last_ms: int, speed: float) -> float:
    """How long they take until the last one is due; 0 if they are sent as fast as possible."""
    return last_ms / 1_000 / speed if speed else 0.0


def replay_recorded(
    spark: SparkSession, sends: DataFrame, endpoints: Sequence[str], run: str, output: str, *, speed: float, tell: Tell
) -> DataFrame:
    """Plays them once, with two receivers per queue, and returns the observations, which are appended to `output`."""
    named = sends.groupBy("queue").agg(F.max("is_fifo").alias("is_fifo"), _last_ms()).collect()
    length_s = _length_s(max((row["last_ms"] for row in named), default=0), speed)
    load = Workload("recorded", senders=0, receivers=2, sending_ms=int((length_s + START_S) * 1_000))
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

        try:
            keep(ordered.mapInArrow(send, OBSERVATION), output, "senders")
        except BaseException:
            spark.sparkContext.cancelAllJobs()
            raise
        receiving.result()
    ordered.unpersist()
    return spark.read.parquet(literal(output)).where(f"run = '{run}'")


def _in_order(sends: DataFrame, tasks: int) -> DataFrame:
    """Persisted, so that a long journal is sorted before its clock starts."""
    ordered = sends.repartition(tasks, "queue").sortWithinPartitions("offset_ms", "place")
    return ordered.drop("place").persist(StorageLevel.DISK_ONLY)


def _queues(
    queues: Mapping[str, bool], load: Workload, endpoints: Sequence[str], run: str
) -> tuple[dict[str, tuple[str, str]], list[Part]]:
    """New queues by the names of the old ones: name and URL; and their receivers."""
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


def _group_of(row: Row) -> tuple[str, str] | None:
    """The key whose order is kept."""
    return (row.queue, row.tenant) if row.is_fifo else None


def _sent(
    rows: Iterator[Row],
    urls: Mapping[str, tuple[str, str]],
    endpoints: Sequence[str],
    run: str,
    start_s: float,
    speed: float,
) -> Iterator[list[Observation]]:
    """Sends each row at its time, and yields the observations."""
    task = _task_number()
    waiting: queue.Queue[tuple[int, Row] | None] = queue.Queue(LANES)
    seen: queue.Queue[Observation | BaseException | None] = queue.Queue(HELD_MAX)
    turns = Turns(waiting, lambda item: _group_of(item[1]))

    def lane(number: int) -> None:
        players: dict[str, Player] = {}

        def send(index: int, row: Row) -> None:
            name, url = urls[row.queue]
            if name not in players:
                seed = crc32(f"{task} {number} {name}".encode())
                endpoint = endpoints[number % len(endpoints)]
                part = Part(run, f"s{task}-{number}-{len(players)}", True, endpoint, name, url, 0, seed)
                players[name] = Player(part, Workload("recorded", is_fifo=row.is_fifo), seen.put)
            delay_s = round(row.delay_ms / 1_000 / speed) if speed else 0
            players[name].send(index, row.bytes, row.tenant, delay_s)

        try:
            for item in turns.pieces():
                send(*item)
            seen.put(None)
        except BaseException as error:
            seen.put(error)

    def feed() -> None:
        try:
            for item in _paced(rows, start_s, speed):
                waiting.put(item)
            for _ in range(LANES):
                waiting.put(None)
        except BaseException as error:
            seen.put(error)

    lanes = [threading.Thread(target=lane, args=(number,), daemon=True) for number in range(LANES)]
    for thread in (*lanes, threading.Thread(target=feed, daemon=True)):
        thread.start()
    yield from _until_all_ended(seen)


def _paced(rows: Iterator[Row], start_s: float, speed: float) -> Iterator[tuple[int, Row]]:
    """Each with its number, at its time."""
    for index, row in enumerate(rows):
        due_s = start_s + (row.offset_ms / 1_000 / speed if speed else 0.0)
        time.sleep(max(0.0, due_s - time.time()))
        yield index, row


def _until_all_ended(seen: queue.Queue[Observation | BaseException | None]) -> Iterator[list[Observation]]:
    """The observations of all lanes, one by one; raises what made a lane fail."""
    left = LANES
    while left:
        one = seen.get()
        if isinstance(one, BaseException):
            raise one
        if one is None:
            left -= 1
        else:
            yield [one]
