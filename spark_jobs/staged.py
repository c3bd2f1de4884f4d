"""Rows that are worked out once: results, which are Parquet, and what leads to them.

A column that hardly repeats is written plainly: a dictionary of it is given up, but only after it was built.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.arguments import literal

_PLAIN = ("address", "md5", "number", "crc", "receive_number", "message_id", "sequence", "index", "_at")
_SMALL_MAX = 100_000


def kept(rows: DataFrame, path: str) -> DataFrame:
    """The same rows, read from `path`."""
    writer = rows.write.mode("overwrite")
    for name in _PLAIN:
        writer = writer.option(f"parquet.enable.dictionary#{name}", "false")
    writer.parquet(path)
    return gathered(rows.sparkSession.read.schema(rows.schema).parquet(literal(path)))


def staged(rows: DataFrame, path: str) -> DataFrame:
    """The same rows, worked out once, on the way to others: read from `path`, or, where a shuffle has one part, held
    by Spark until nobody refers to them."""
    return gathered(rows.localCheckpoint()) if _is_small(rows) else kept(rows, path)


def gathered(rows: DataFrame) -> DataFrame:
    """The same rows; in one part where a shuffle has one part, too (`spark_jobs.session.SMALL`): what is joined and
    added up then needs no shuffle, which costs more than the work on few rows."""
    return rows.coalesce(1) if _is_small(rows) else rows


def united(*parts: DataFrame) -> DataFrame:
    """The rows of all, gathered. One that lacks a column has null there."""
    return gathered(reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts))


def small(rows: DataFrame) -> DataFrame:
    """The same rows; sent to every task of a join, instead of the other side to them, when they are few. Counts."""
    return F.broadcast(rows) if rows.count() <= _SMALL_MAX else rows


def _is_small(rows: DataFrame) -> bool:
    return rows.sparkSession.conf.get("spark.sql.shuffle.partitions") == "1"
