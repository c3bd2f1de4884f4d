"""Signs that a journal is missing: that of a node whose folder was not given, or of a time before the journal began.
Whatever such a journal could explain is not a violation (`spark_jobs.verdict`).

    unsent       something happened to a message that nobody sent
    unreceived   a message that nobody received was deleted: its receipt handle came from a receive
    untaken      receive numbers of a queue are missing: the cache assigns them consecutively, whichever node asks
    silent       a queue was sent to, and no receive was answered, not even an empty one

A counter that started over (because its cache restarted, or the queue was idle) continues at least RESTART ahead; that
is not a sign.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.tables import is_event

RESTART = 1 << 20
"""A counter that starts over begins above every number it assigned before: at 2,000,000 for each second since 2020."""


def signs_of(events: DataFrame, taken: DataFrame, lives: DataFrame) -> dict[str, int]:
    """How often each sign occurs. `taken`: events, including all receives of some period; `lives` with their fate."""
    told = lives.agg(
        F.count_if(~F.col("is_known")).alias("unsent"),
        F.count_if(F.col("is_known") & (F.col("deliveries") == 0) & (F.col("fate") == "deleted")).alias("unreceived"),
    )
    signs: dict[str, int] = told.collect()[0].asDict()
    return signs | {"untaken": _untaken(taken), "silent": _silent(events)}


def skew_of(events: DataFrame, steps: DataFrame) -> int:
    """A lower bound, in ms, of how far a node's clock is behind its cache's clock, or was set back: a receive is logged
    after it was taken, and what a server logs later happened later."""
    parts = events.agg(behind_ms()), steps.agg(F.max("stepped_ms"))
    return max(int(part.collect()[0][0] or 0) for part in parts)


def behind_ms() -> Column:
    """The same as an aggregate over events; null without a receive."""
    return F.max(F.when(is_event(EventName.RECEIVED), F.col("received_ms") - F.col("at_ms")))


def _untaken(events: DataFrame) -> int:
    """Numbers from a node that received from the store come from its own counter and have no neighbours."""
    numbers = events.where(is_event(EventName.RECEIVED)).select("uid", "receive_number").distinct()
    by_bucket = numbers.withColumn("bucket", F.floor(F.col("receive_number") / RESTART))
    inner = Window.partitionBy("uid", "bucket").orderBy("receive_number")
    steps = by_bucket.withColumn("step", F.col("receive_number") - F.lag("receive_number").over(inner))
    buckets = steps.groupBy("uid", "bucket").agg(
        F.coalesce(F.sum(F.col("step") - 1), F.lit(0)).alias("within"),
        F.min("receive_number").alias("first"),
        F.max("receive_number").alias("last"),
    )
    outer = Window.partitionBy("uid").orderBy("bucket")
    ahead = F.col("first") - F.lag("last").over(outer) - 1
    between = F.when(ahead < RESTART, ahead).otherwise(0)
    total = buckets.select((F.col("within") + F.coalesce(between, F.lit(0))).alias("missing")).agg(F.sum("missing"))
    return int(total.collect()[0][0] or 0)


def _silent(events: DataFrame) -> int:
    answered = is_event(EventName.RECEIVED, EventName.FROM_STORE, EventName.RECEIVED_NOTHING)
    queues = events.groupBy("uid").agg(
        F.max(is_event(EventName.SENT)).alias("is_sent_to"), F.max(answered).alias("is_answered")
    )
    return queues.where("is_sent_to AND NOT is_answered").count()
