"""Rows that are written once and read from there afterwards, as Parquet.

A column that hardly repeats is written plainly: a dictionary of it is given up, but only after it was built.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_PLAIN = ("address", "md5", "number", "crc", "receive_number", "message_id", "sequence", "index", "_at")
_SMALL_MAX = 100_000


def kept(rows: DataFrame, path: str) -> DataFrame:
    """The same rows, read from `path`."""
    writer = rows.write.mode("overwrite")
    for name in _PLAIN:
        writer = writer.option(f"parquet.enable.dictionary#{name}", "false")
    writer.parquet(path)
    return rows.sparkSession.read.schema(rows.schema).parquet(path)


def small(rows: DataFrame) -> DataFrame:
    """The same rows; sent to every task of a join, instead of the other side to them, when they are few. Counts."""
    return F.broadcast(rows) if rows.count() <= _SMALL_MAX else rows
