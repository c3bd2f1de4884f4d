"""The tables that every metric works on, made from events in one shuffle by message.

    steps   one row an event of a message, with what the step before it left:

            sent ── received (hidden until 30) ── hidden (until 5) ── received at 6 …
                                                                      previous_until_ms = 5: rightly visible again

    lives   one row a message: by its address, which it has for all time; moving to another queue ends one life and
            begins another

A receive that was given back was none, and a repeat by its attempt id (same receive number) is the same one. Changes
that make a message visible at once count from when they were asked for: their line is written after the disk has them,
and the message may be received again before that.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cqs.events import EventName

ARRIVED = "arrived"
"""The step by which a moved message begins its life in the other queue."""
QUEUE = ["account", "queue", "uid"]
_KINDS = [
    EventName.SENT,
    EventName.RECEIVED,
    EventName.FROM_STORE,
    EventName.DELETED,
    EventName.HIDDEN,
    EventName.EXPIRED,
    EventName.MOVED,
]
_RECEIVES = [EventName.RECEIVED.value, EventName.FROM_STORE.value]
_STEP_COLUMNS = [
    *("address", "event", "node", "incarnation", "number", "at_ms", *QUEUE, "generation", "is_fifo", "tenant"),
    *("sequence", "md5", "bytes", "message_id", "sent_ms", "visible_ms", "run", "sender", "index", "receiver_id"),
    *("call", "receive_number", "receive_count", "received_ms", "hidden_until_ms"),
]


def is_event(*names: EventName | str) -> Column:
    """Rows of these events."""
    return F.col("event").isin([str(name) for name in names])


def steps_of(events: DataFrame, skew_ms: int = 0) -> DataFrame:
    """What happened to messages, by clocks that differ by up to `skew_ms`: each step with `time_ms`, `is_delivery`,
    `is_replay`, and of the step before that hid the message: `previous_until_ms` (null: none), `previous_event`;
    `deleted_before_ms`: when it had been deleted."""
    own = events.where(is_event(*_KINDS)).select(*_STEP_COLUMNS)
    given_back = events.where(is_event(EventName.GIVEN_BACK)).select("address", "receive_number").distinct()
    kept = own.join(given_back, ["address", "receive_number"], "left_anti").unionByName(arrivals_of(events))
    hides, receives = is_event(EventName.HIDDEN), F.col("event").isin(_RECEIVES)
    asked_ms = F.when(hides, F.least("at_ms", "hidden_until_ms")).when(receives, F.col("received_ms"))
    timed = kept.withColumn("time_ms", F.coalesce(asked_ms, F.col("at_ms")))
    by_message = Window.partitionBy("address")
    in_time = by_message.orderBy("time_ms", "receive_number", "at_ms", "number")
    before = in_time.rowsBetween(Window.unboundedPreceding, -1)
    about_now = by_message.orderBy("time_ms").rangeBetween(-skew_ms, skew_ms)
    shows = hides & (F.col("hidden_until_ms") <= F.col("at_ms"))
    is_shown_now = receives & F.max(shows).over(about_now)
    until_ms = F.last(F.when(hides | receives, F.col("hidden_until_ms")), ignorenulls=True).over(before)
    number = F.last(F.when(receives, F.col("receive_number")), ignorenulls=True).over(before)
    is_replay = F.coalesce(receives & (number == F.col("receive_number")), F.lit(False))
    return timed.select(
        *_STEP_COLUMNS,
        "time_ms",
        (receives & ~is_replay).alias("is_delivery"),
        is_replay.alias("is_replay"),
        F.when(is_shown_now, F.col("time_ms")).otherwise(until_ms).alias("previous_until_ms"),
        F.last(F.when(hides | receives, F.col("event")), ignorenulls=True).over(before).alias("previous_event"),
        F.min(F.when(is_event(EventName.DELETED), F.col("at_ms"))).over(before).alias("deleted_before_ms"),
    )


def lives_of(steps: DataFrame, events: DataFrame) -> DataFrame:
    """One row a message. `is_known`: its send or arrival is in the journal. `fate`: what ended it, "" = nothing yet.
    Times in ms; null where it did not happen."""
    begins, delivers = is_event(EventName.SENT, ARRIVED), F.col("is_delivery")

    def at_start(name: str) -> Column:
        return F.coalesce(F.max(F.when(begins, F.col(name))), F.max(name)).alias(name)

    lives = steps.groupBy("address").agg(
        *[at_start(name) for name in [*QUEUE, "generation", "is_fifo", "tenant", "sequence", "run", "sender", "index"]],
        F.max(begins).alias("is_known"),
        F.max(is_event(ARRIVED)).alias("is_arrival"),
        F.max(F.when(begins, F.col("md5"))).alias("md5"),
        F.min(F.when(begins, F.col("at_ms"))).alias("sent_ms"),
        F.max(F.when(begins, F.col("visible_ms"))).alias("visible_ms"),
        F.count_if(delivers).alias("deliveries"),
        F.min(F.when(delivers, F.col("receive_number"))).alias("first_place"),
        F.min(F.when(delivers, F.col("received_ms"))).alias("first_received_ms"),
        F.min(F.when(delivers, F.col("md5"))).alias("received_md5_min"),
        F.max(F.when(delivers, F.col("md5"))).alias("received_md5_max"),
        _first(EventName.DELETED).alias("deleted_ms"),
        _first(EventName.EXPIRED).alias("expired_ms"),
        _first(EventName.MOVED).alias("moved_ms"),
    )
    return _with_fate(lives, events)


def _first(event: EventName) -> Column:
    return F.min(F.when(is_event(event), F.col("at_ms")))


def arrivals_of(events: DataFrame) -> DataFrame:
    """Moved messages as they begin in the other queue."""
    moved = events.where(is_event(EventName.MOVED))
    renamed = {
        "event": F.lit(ARRIVED),
        "address": F.col("to_address"),
        "queue": F.col("to_queue"),
        "uid": F.col("to_uid"),
        "generation": F.col("to_generation"),
        "is_fifo": F.col("sequence") > 0,
        "receive_number": F.lit(0).cast("long"),
    }
    return moved.select([renamed.get(name, F.col(name)).alias(name) for name in _STEP_COLUMNS])


def _with_fate(lives: DataFrame, events: DataFrame) -> DataFrame:
    purges = events.where(is_event(EventName.PURGED)).groupBy("uid").agg(F.max("generation").alias("purged_below"))
    ends = events.where(is_event(EventName.QUEUE_DELETED)).groupBy("uid").agg(F.min("at_ms").alias("queue_deleted_ms"))
    fate = (
        F.when(F.col("deleted_ms").isNotNull(), "deleted")
        .when(F.col("moved_ms").isNotNull(), "moved")
        .when(F.col("expired_ms").isNotNull(), "expired")
        .when(F.col("generation") < F.col("purged_below"), "purged")
        .when(F.col("queue_deleted_ms").isNotNull(), "queue deleted")
        .otherwise("")
    )
    joined = lives.join(F.broadcast(purges), "uid", "left").join(F.broadcast(ends), "uid", "left")
    return joined.withColumn("fate", fate).drop("purged_below", "queue_deleted_ms")
