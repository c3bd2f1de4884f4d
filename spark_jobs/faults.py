"""Injected faults of a replay, counted from its clients' observations."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.workload import Workload


def faults_of(workload: Workload | None, seen: DataFrame) -> list[str]:
    """Descriptions of the injected faults, with their numbers; empty for a recorded journal (None)."""
    if workload is None:
        return []
    made = {row["outcome"]: row["count"] for row in seen.groupBy("outcome").count().collect()}
    told = {
        "quit": ("receivers quit before they delete", workload.quit_probability),
        "dropped": ("calls lose their request or their answer", workload.drop_probability),
    }
    return [
        f"{text}, with probability {probability:g}: {made.get(outcome, 0)} did"
        for outcome, (text, probability) in told.items()
        if probability
    ]


def faults_by_span(seen: DataFrame, span_ms: int) -> dict[int, int]:
    """Number of injected faults, by the start of the span in ms."""
    made = seen.where("outcome IN ('quit', 'dropped')")
    counted = made.groupBy((F.floor(F.col("at_ms") / span_ms) * span_ms).alias("from_ms")).count()
    return {row["from_ms"]: row["count"] for row in counted.collect()}
