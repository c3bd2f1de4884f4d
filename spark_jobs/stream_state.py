"""The state of the streaming audit: messages that can still change, and totals of those that can't any more.

    open messages (state n-1) ─┐
    events of batch n ─────────┴─► merged ─┬─► still open          (state n)
                                           └─► ended before the watermark ─► totals by queue (n-1 + these)

Everything in a row is a sum, a minimum or a maximum, so parts can be merged in any order.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.tables import ARRIVED, QUEUE, arrivals_of, is_event

_KINDS = [
    EventName.SENT,
    EventName.RECEIVED,
    EventName.FROM_STORE,
    EventName.GIVEN_BACK,
    EventName.DELETED,
    EventName.EXPIRED,
    EventName.MOVED,
]
OPEN = (
    "address string, account string, queue string, uid long, generation long, is_known boolean, md5 string, "
    "received long, given_back long, md5_min string, md5_max string, deleted_ms long, is_ended boolean, "
    "received_ms long, last_ms long"
)
COUNTS = ("acknowledged", "received", "deleted", "ended_otherwise", "duplicates", "corrupted", "resurrected", "late")
TOTALS = "account string, queue string, uid long, " + ", ".join(f"{name} long" for name in COUNTS)


def opened(events: DataFrame) -> DataFrame:
    """The messages of these events, one row each, as OPEN."""
    own = events.where(is_event(*_KINDS))
    wanted = [*("event", "address", *QUEUE, "generation", "md5", "receive_number", "received_ms", "at_ms")]
    steps = own.select(*wanted).unionByName(arrivals_of(events).select(*wanted))
    begins, receives = is_event(EventName.SENT, ARRIVED), is_event(EventName.RECEIVED, EventName.FROM_STORE)
    number, came_md5 = F.when(receives, F.col("receive_number")), F.when(receives, F.col("md5"))
    return steps.groupBy("address").agg(
        *[F.coalesce(F.max(F.when(begins, F.col(name))), F.max(name)).alias(name) for name in [*QUEUE, "generation"]],
        F.max(begins).alias("is_known"),
        F.max(F.when(begins, F.col("md5"))).alias("md5"),
        F.count_distinct(number).alias("received"),
        F.count_if(is_event(EventName.GIVEN_BACK)).alias("given_back"),
        F.min(came_md5).alias("md5_min"),
        F.max(came_md5).alias("md5_max"),
        F.min(F.when(is_event(EventName.DELETED), F.col("at_ms"))).alias("deleted_ms"),
        F.max(is_event(EventName.DELETED, EventName.EXPIRED, EventName.MOVED)).alias("is_ended"),
        F.max(F.when(receives, F.col("received_ms"))).alias("received_ms"),
        F.max("at_ms").alias("last_ms"),
    )


def merged(before: DataFrame, new: DataFrame) -> DataFrame:
    """Rows of the same message as one."""
    return (
        before.unionByName(new)
        .groupBy("address")
        .agg(
            *[F.max(name).alias(name) for name in [*QUEUE, "generation", "is_known", "md5"]],
            F.sum("received").alias("received"),
            F.sum("given_back").alias("given_back"),
            F.min("md5_min").alias("md5_min"),
            F.max("md5_max").alias("md5_max"),
            F.min("deleted_ms").alias("deleted_ms"),
            F.max("is_ended").alias("is_ended"),
            F.max("received_ms").alias("received_ms"),
            F.max("last_ms").alias("last_ms"),
        )
    )


def is_closed(watermark_ms: int, gone_below: Mapping[int, int]) -> Column:
    """The message ended (or went with its queue, or was never begun) and nothing was heard of it since the watermark.
    `gone_below`: by queue's uid, the generation below which everything was purged."""
    gone = F.lit(False)
    for uid, generation in gone_below.items():
        gone |= (F.col("uid") == uid) & (F.col("generation") < generation)
    return (F.col("is_ended") | gone | ~F.col("is_known")) & (F.col("last_ms") <= watermark_ms)


def counted(messages: DataFrame, skew_ms: int = 0) -> DataFrame:
    """Counts of the messages by queue, as TOTALS; clocks differ by up to `skew_ms`. One that is not known is late: its
    beginning was counted before, or is not in the journal."""
    known, deliveries = F.col("is_known"), F.col("received") - F.col("given_back")
    differs = (F.col("md5_min") != F.col("md5")) | (F.col("md5_max") != F.col("md5"))
    return messages.groupBy(*QUEUE).agg(
        F.count_if(known).alias("acknowledged"),
        F.count_if(known & (deliveries > 0)).alias("received"),
        F.count_if(known & F.col("deleted_ms").isNotNull()).alias("deleted"),
        F.count_if(known & F.col("is_ended") & F.col("deleted_ms").isNull()).alias("ended_otherwise"),
        F.coalesce(F.sum(F.when(known & (deliveries > 1), deliveries - 1)), F.lit(0)).alias("duplicates"),
        F.count_if(differs).alias("corrupted"),
        F.count_if(F.col("received_ms") > F.col("deleted_ms") + skew_ms).alias("resurrected"),
        F.count_if(~known).alias("late"),
    )


def added(before: DataFrame, new: DataFrame) -> DataFrame:
    """Totals by queue, added up."""
    return before.unionByName(new).groupBy(*QUEUE).agg(*[F.sum(name).alias(name) for name in COUNTS])
