"""What is stored, as rows `address`, `uid`, `generation`, `md5`, read by Spark tasks.

SQLite: each task opens the file read-only and reads its own range of IDs. A store in use by a server is refused, unless
the caller accounts for that (`spark_jobs.running`).
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from cqs.events import address_text
from spark_jobs.errors import JobError
from spark_jobs.held import is_held

if TYPE_CHECKING:
    import pyarrow as pa

FILE_NAME, LOCK_NAME = "messages.db", "lock"
_SCHEMA = "address string, uid long, generation long, md5 string"
GENERATION_BITS = 15
"""Low bits of a queue's storage ID, in both stores; its uid is in the bits above."""
_ROWS = "SELECT id, queue, tail, body FROM messages WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
_BATCH_ROWS = 1_000
"""Rows per transaction, so that a running server can checkpoint its WAL in between."""


class NoStore(JobError):
    """There is no CQS store at that place."""


class StoreInUse(JobError):
    """A server is using it: without a window, messages sent and deleted in the meantime would look like orphans and
    losses."""


def in_sqlite(spark: SparkSession, data_dir: str, tasks: int = 8, *, is_running: bool = False) -> DataFrame:
    """All messages of the database in the server's data folder, except those of purged or deleted queues, which are
    only waiting to be swept. `is_running`: a server may be using it. Raises NoStore, StoreInUse."""
    path = database_of(data_dir, is_running=is_running)
    try:
        with closing(_opened(str(path))) as connection:
            low, high = connection.execute("SELECT min(id), max(id) FROM messages").fetchone()
            living = connection.execute("SELECT uid, generation FROM queues").fetchall()
    except sqlite3.Error as error:
        raise NoStore(f"{path} can't be read: {error}.") from error
    queues = spark.createDataFrame(living, "uid long, generation long")
    low, high = low or 0, (high or 0) + 1
    edges = [low + (high - low) * part // tasks for part in range(tasks + 1)]
    ranges = spark.createDataFrame(list(pairwise(edges)), "first long, end long").repartition(tasks)
    name = str(path)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from _read(name, row["first"], row["end"])

    return ranges.mapInArrow(run, _SCHEMA).join(queues, ["uid", "generation"], "left_semi")


def database_of(data_dir: str, *, is_running: bool = False) -> Path:
    """The database in the server's data folder; a copy of one may have no lock file. Raises NoStore, StoreInUse."""
    path = Path(data_dir) / FILE_NAME
    if not path.is_file():
        raise NoStore(f"There is no {FILE_NAME} in {data_dir}: name the server's data_dir.")
    if not is_running and is_held(path.parent / LOCK_NAME):
        raise StoreInUse(
            f"A server is using {data_dir}: stop it, then reconcile; or audit while it runs (--since 12h, or --until)."
        )
    return path


def _opened(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def _read(path: str, first: int, end: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with closing(_opened(path)) as connection:
        while True:
            rows = []
            for row in connection.execute(_ROWS, (first, end, _BATCH_ROWS)):
                rows.append(_told(*row))
                first = row[0] + 1
            if not rows:
                return
            yield pa.RecordBatch.from_pylist(rows)


def _told(key: int, queue: int, tail: int, body: bytes) -> dict[str, object]:
    """A row without its body, so that no more than one body is in memory at a time."""
    return {
        "address": address_text(key, tail),
        "uid": queue >> GENERATION_BITS,
        "generation": queue & ((1 << GENERATION_BITS) - 1),
        "md5": hashlib.md5(body, usedforsecurity=False).hexdigest(),
    }
