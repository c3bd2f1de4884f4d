"""Why messages were redelivered: each delivery after a message's first has one reason."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.hiding import is_hidden_too_short

TIMED_OUT = "timeout ran out"
SHOWN = "made visible"
TOO_SHORT = "hidden too short"
DELETED = "after its delete"


def again() -> Column:
    """Rows of steps: deliveries after a message's first."""
    return F.col("is_delivery") & F.col("previous_event").isNotNull()


def reason(skew_ms: int = 0) -> Column:
    """The reason of such a row."""
    return (
        F.when(F.col("deleted_before_ms") + skew_ms < F.col("received_ms"), DELETED)
        .when(F.expr(is_hidden_too_short(skew_ms)), TOO_SHORT)
        .when(F.col("previous_event") == EventName.HIDDEN.value, SHOWN)
        .otherwise(TIMED_OUT)
    )


def redeliveries(steps: DataFrame, by: Sequence[str], skew_ms: int = 0) -> DataFrame:
    """For each group and `reason`: `count`."""
    return steps.where(again()).groupBy(*by, reason(skew_ms).alias("reason")).count()
