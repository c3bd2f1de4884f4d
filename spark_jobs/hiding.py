"""Deliveries of messages that were still hidden by an earlier receive or a later visibility change: at most one
receiver may hold a message at a time."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.findings import Kind, findings


def is_hidden_too_short(skew_ms: int = 0) -> str:
    """The condition on a row of steps, as SQL; deliveries of a deleted message are excluded."""
    return f"is_delivery AND received_ms + {int(skew_ms)} < previous_until_ms AND deleted_before_ms IS NULL"


def hidden_too_short(steps: DataFrame, skew_ms: int = 0) -> DataFrame:
    """Findings: one per delivery more than `skew_ms` before the message should have become visible."""
    early = steps.where(is_hidden_too_short(skew_ms))
    until = F.col("previous_until_ms").cast("string")
    detail = F.concat(F.lit("hidden until "), until, F.lit(", then "), F.col("event"))
    return findings(early, Kind.HIDDEN_TOO_SHORT, at_ms=F.col("received_ms"), detail=detail)
