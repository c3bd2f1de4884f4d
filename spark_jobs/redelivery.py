"""Why messages were delivered again: each delivery after a message's first has one reason."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.hiding import is_hidden_too_short

TIMED_OUT = "timeout ran out"
SHOWN = "made visible"
TOO_SHORT = "hidden too short"
DELETED = "after its delete"


def redeliveries(steps: DataFrame, by: Sequence[str], skew_ms: int = 0) -> DataFrame:
    """For each group and `reason`: `count`."""
    again = steps.where("is_delivery AND previous_event IS NOT NULL")
    reason = (
        F.when(F.col("deleted_before_ms") + skew_ms < F.col("received_ms"), DELETED)
        .when(F.expr(is_hidden_too_short(skew_ms)), TOO_SHORT)
        .when(F.col("previous_event") == EventName.HIDDEN.value, SHOWN)
        .otherwise(TIMED_OUT)
    )
    return again.groupBy(*by, reason.alias("reason")).count()
