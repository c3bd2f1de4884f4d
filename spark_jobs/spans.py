"""The run over time: latency, redeliveries and displacement, in spans of equal length."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.latency import latencies_over_time


def over_time(lives: DataFrame, steps: DataFrame, places: DataFrame, span_ms: int) -> DataFrame:
    """For each span (`from_ms`): the results of `latencies_over_time` for first deliveries, `again` (later deliveries),
    and the mean `displacement` of messages first delivered in it. Spans without any delivery are omitted."""

    def span(time_ms: str) -> Column:
        return (F.floor(F.col(time_ms) / span_ms) * span_ms).alias("from_ms")

    again = (
        steps.where("is_delivery AND previous_event IS NOT NULL")
        .groupBy(span("received_ms"))
        .agg(F.count("*").alias("again"))
    )
    displaced = places.groupBy(span("first_received_ms")).agg(
        F.avg(F.abs(F.col("received") - F.col("sent"))).alias("displacement")
    )
    told = (
        latencies_over_time(lives, span_ms)
        .join(again, "from_ms", "full_outer")
        .join(displaced, "from_ms", "full_outer")
    )
    return told.fillna(0)
