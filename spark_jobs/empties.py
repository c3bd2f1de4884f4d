"""Empty receives (the CQS paper's column "empty %")."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.tables import is_event


def empties(events: DataFrame, by: Sequence[str]) -> DataFrame:
    """For each group: `receives` (calls answered), `empty` ones, and `given_back` messages."""
    found = is_event(EventName.RECEIVED, EventName.FROM_STORE) & (F.col("number") == F.col("call"))
    nothing = F.when(is_event(EventName.RECEIVED_NOTHING), F.col("count")).otherwise(0)
    summed = events.groupBy(*by).agg(
        F.count_if(found).alias("found"),
        F.sum(nothing).alias("empty"),
        F.count_if(is_event(EventName.GIVEN_BACK)).alias("given_back"),
    )
    return summed.select(*by, (F.col("found") + F.col("empty")).alias("receives"), "empty", "given_back")
