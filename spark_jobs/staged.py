"""Rows that are computed once: results, as Parquet, and intermediate rows.

Columns with few repeated values are written without a dictionary: Parquet would build one first and then give it up.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

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
    """The same rows, computed once for further use: read from `path`, or, if a shuffle has one partition, held by Spark
    until nothing refers to them."""
    return gathered(rows.localCheckpoint()) if _is_small(rows) else kept(rows, path)


def gathered(rows: DataFrame) -> DataFrame:
    """The same rows; in one partition if a shuffle has one too (`spark_jobs.session.SMALL`): then joins and
    aggregations need no shuffle, which costs more than the work on few rows."""
    return rows.coalesce(1) if _is_small(rows) else rows


def together(rows: DataFrame, *names: str) -> DataFrame:
    """The same rows; those with equal values in these columns are in the same partition."""
    return rows.coalesce(1) if _is_small(rows) else rows.repartition(*names)


def in_ranges(rows: DataFrame, *names: str) -> DataFrame:
    """The same rows, sorted by these columns across all partitions."""
    parts = rows.coalesce(1) if _is_small(rows) else rows.repartitionByRange(*names)
    return parts.sortWithinPartitions(*names)


def united(*parts: DataFrame) -> DataFrame:
    """The union of all rows, gathered. Missing columns are null."""
    return gathered(reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts))


def few(spark: SparkSession, rows: Iterable[tuple[Any, ...]], schema: str | StructType) -> DataFrame:
    """Rows that the driver holds, gathered. They are part of the plan: no task starts Python to read them, as with
    `createDataFrame`, and what follows from there being none is left out of the plan."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    fields = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    assert isinstance(fields, StructType)
    told = to_arrow_schema(fields)
    table = pa.Table.from_pylist([dict(zip(told.names, row, strict=True)) for row in rows], schema=told)
    return gathered(spark.createDataFrame(table))


def small(rows: DataFrame) -> DataFrame:
    """The same rows; marked for a broadcast join if they are few, which spares a shuffle. Counts them, unless nothing
    is shuffled anyway."""
    return F.broadcast(rows) if not _is_small(rows) and rows.count() <= _SMALL_MAX else rows


def _is_small(rows: DataFrame) -> bool:
    return rows.sparkSession.conf.get("spark.sql.shuffle.partitions") == "1"
