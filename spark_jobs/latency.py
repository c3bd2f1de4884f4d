"""Time from send to first delivery, in ms: from when the send was durable (or its delay was over) to when the message
was taken. Exact to a millisecond on one node; between nodes as exact as their clocks."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

HOUR_MS = 3_600_000
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
ACCURACY = 10_000
"""Percentile ranks are accurate to 1 in 10,000."""


def latency_columns() -> list[Column]:
    """Aggregates over lives: `mean`, `cut` (percentiles), `max`; null without any."""
    latency = F.when(is_received(), waited_ms())
    cut = F.percentile_approx(latency, list(PERCENTILES.values()), ACCURACY)
    return [F.avg(latency).alias("mean"), cut.alias("cut"), F.max(latency).alias("max")]


def waited_ms() -> Column:
    """The latency of lives that have one."""
    return F.greatest(F.lit(0), F.col("first_received_ms") - F.greatest("sent_ms", "visible_ms"))


def is_received() -> Column:
    """Whether a life has a latency."""
    return F.col("is_known") & (F.col("deliveries") > 0)


def named_cuts(summed: DataFrame) -> DataFrame:
    """With one column per percentile instead of `cut`."""
    return summed.withColumns({name: F.col("cut")[place] for place, name in enumerate(PERCENTILES)}).drop("cut")


def latencies_over_time(lives: DataFrame, span_ms: int) -> DataFrame:
    """For each span of first deliveries (`from_ms`): `messages`, `mean`, the percentiles, `max`."""
    from_ms = (F.floor(F.col("first_received_ms") / span_ms) * span_ms).alias("from_ms")
    summed = lives.where(is_received()).groupBy(from_ms).agg(F.count("*").alias("messages"), *latency_columns())
    return named_cuts(summed)
