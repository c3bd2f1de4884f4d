"""Deliveries of messages whose delete had been acknowledged, or that had moved to another queue. (Jepsen's total-queue
checker has no name for them; SQS allows them, rarely; CQS promises that they never happen while no replica is lost.)"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.findings import Kind, findings


def is_resurrected(skew_ms: int = 0) -> Column:
    """The condition on a row of steps."""
    return F.col("is_delivery") & (F.col("received_ms") > F.col("deleted_before_ms") + skew_ms)


def resurrected(steps: DataFrame, skew_ms: int = 0) -> DataFrame:
    """Findings: one per delivery taken more than `skew_ms` after a delete of the message was acknowledged, or after its
    move to another queue."""
    late = steps.where(is_resurrected(skew_ms))
    detail = F.concat(F.lit("gone at "), F.col("deleted_before_ms").cast("string"))
    return findings(late, Kind.RESURRECTED, at_ms=F.col("received_ms"), detail=detail)
