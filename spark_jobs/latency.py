"""Time from send to first delivery, in ms: from when the send was durable (or its delay was over) to when the message
was taken. On one node exact to a millisecond; between nodes as exact as their clocks."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

HOUR_MS = 3_600_000
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
ACCURACY = 10_000
"""Ranks are right to 1 in 10,000."""


def latencies(lives: DataFrame, by: Sequence[str], bucket_ms: int = 0) -> DataFrame:
    """For each group, and for each span of `bucket_ms` of first deliveries unless that is 0 (`from_ms`): `messages`,
    `mean`, the percentiles, `max`."""
    received = lives.where("is_known AND deliveries > 0").withColumn(
        "latency", F.greatest(F.lit(0), F.col("first_received_ms") - F.greatest("sent_ms", "visible_ms"))
    )
    keys = [*by]
    if bucket_ms:
        received = received.withColumn("from_ms", F.floor(F.col("first_received_ms") / bucket_ms) * bucket_ms)
        keys.append("from_ms")
    cut = F.percentile_approx("latency", list(PERCENTILES.values()), ACCURACY).alias("cut")
    summed = received.groupBy(*keys).agg(
        F.count("*").alias("messages"), F.avg("latency").alias("mean"), cut, F.max("latency").alias("max")
    )
    named = [F.col("cut")[place].alias(name) for place, name in enumerate(PERCENTILES)]
    return summed.select(*keys, "messages", "mean", *named, "max")
