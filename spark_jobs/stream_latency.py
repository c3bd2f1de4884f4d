"""Latencies as counts per value, which can be added up: percentiles of a stream in bounded state.

0 1 2 … 2,047 │ 2,048 2,050 … 4,094 │ 4,096 4,100 …        ms; exact up to 2 seconds, and to 0.1 % above
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.latency import HOUR_MS, PERCENTILES, is_received, waited_ms
from spark_jobs.staged import united
from spark_jobs.tables import QUEUE

_EXACT_BITS = 11
HOURS_KEPT = 48
LATENCIES = "account string, queue string, uid long, from_ms long, latency_ms long, messages long"


def latencies_in(lives: DataFrame) -> DataFrame:
    """As LATENCIES, plus `is_closed`, which the lives have."""
    latency = waited_ms()
    step = F.pow(F.lit(2), F.greatest(F.lit(0), F.length(F.bin(latency)) - _EXACT_BITS)).cast("long")
    from_ms = (F.floor(F.col("first_received_ms") / HOUR_MS) * HOUR_MS).alias("from_ms")
    cut = (F.floor(latency / step) * step).alias("latency_ms")
    return lives.where(is_received()).groupBy(*QUEUE, "is_closed", from_ms, cut).agg(F.count("*").alias("messages"))


def added(before: DataFrame, new: DataFrame, latest_ms: int) -> DataFrame:
    """The sum of both, as LATENCIES. Hours older than HOURS_KEPT are merged into one, with start 0."""
    is_old = F.col("from_ms") < latest_ms - HOURS_KEPT * HOUR_MS
    rows = united(before, new).withColumn("from_ms", F.when(is_old, 0).otherwise(F.col("from_ms")))
    return rows.groupBy(*QUEUE, "from_ms", "latency_ms").agg(F.sum("messages").alias("messages"))


def percentiles(latencies: DataFrame, by: list[str]) -> DataFrame:
    """For each group: `messages`, and one column per percentile: the smallest latency that this share did not
    exceed."""
    summed = latencies.groupBy(*by, "latency_ms").agg(F.sum("messages").alias("messages"))
    group = Window.partitionBy(*by)
    below = F.sum("messages").over(group.orderBy("latency_ms"))
    ranked = summed.withColumn("below", below).withColumn("all", F.sum("messages").over(group))
    cuts = [
        F.min(F.when(F.col("below") >= F.ceil(F.col("all") * part), F.col("latency_ms"))).alias(name)
        for name, part in PERCENTILES.items()
    ]
    return ranked.groupBy(*by).agg(F.sum("messages").alias("messages"), *cuts)
