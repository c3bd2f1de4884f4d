"""What happened to each message, step by step.

    moments  one row an event of a message, as its line tells it; a message that moved arrives in the other queue
    steps    the same in order of time, each with what the step before it left:

            sent ── received (hidden until 30) ── hidden (until 5) ── received at 6 …
                                                                      previous_until_ms = 5: rightly visible again

A receive that was given back was none, and a repeat by its attempt id (same receive number) is the same one. Changes
that make a message visible at once count from when they were asked for: their line is written after the disk has them,
and the message may be received again before that.

Steps are sorted by message, which costs the most; only messages of which the order of steps matters need it
(`spark_jobs.lives`).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cqs.events import EventName
from spark_jobs.schema import line_schema
from spark_jobs.staged import united

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
_BY = ("node", "incarnation")
_RECEIVES = [EventName.RECEIVED.value, EventName.FROM_STORE.value]
_STEP_COLUMNS = [
    *("address", "event", "node", "incarnation", "number", "at_ms", *QUEUE, "generation", "is_fifo", "tenant"),
    *("sequence", "md5", "bytes", "message_id", "sent_ms", "visible_ms", "begun_ms", "run", "sender", "index"),
    *("receiver_id", "call", "receive_number", "receive_count", "received_ms", "hidden_until_ms"),
]


def moment_schema() -> StructType:
    """Of moments."""
    fields = {field.name: field for field in line_schema()}
    return StructType([fields[name] for name in _STEP_COLUMNS])


def is_event(*names: EventName | str) -> Column:
    """Rows of these events."""
    return F.col("event").isin([str(name) for name in names])


def moments_of(events: DataFrame) -> DataFrame:
    """Events of messages, and of moved ones also how they begin in the other queue. A doubt tells nothing of a message
    but that it may not hold up its FIFO group any more."""
    is_doubt = is_event(EventName.DOUBTFUL) & F.col("is_fifo")
    own = events.where(is_event(*_KINDS, EventName.GIVEN_BACK) | is_doubt).select(*_STEP_COLUMNS)
    return united(own, arrivals_of(events))


def plain_steps_of(moments: DataFrame) -> DataFrame:
    """Steps, with nothing known of what came before: of messages that were received once at most."""
    nothing = {"previous_until_ms": "long", "previous_event": "string"}
    nothing |= {"deleted_before_ms": "long", "stepped_ms": "long"}
    return (
        with_time(moments.where(~is_event(EventName.GIVEN_BACK)))
        .withColumn("is_delivery", F.col("event").isin(_RECEIVES))
        .withColumn("is_replay", F.lit(False))
        .withColumns({name: F.lit(None).cast(kind) for name, kind in nothing.items()})
    )


def steps_of(moments: DataFrame, skew_ms: int = 0) -> DataFrame:
    """What happened to messages, by clocks that differ by up to `skew_ms`: each step with `time_ms`, `is_delivery`,
    `is_replay`, and of the step before that hid the message: `previous_until_ms` (null: none), `previous_event`;
    `deleted_before_ms`: when it had been deleted, or moved to another queue; `stepped_ms`: by how much that is earlier
    than this receive, where the same server told it later."""
    given_back = moments.where(is_event(EventName.GIVEN_BACK)).select("address", "receive_number").distinct()
    own = moments.where(~is_event(EventName.GIVEN_BACK))
    timed = with_time(own.join(given_back, ["address", "receive_number"], "left_anti"))
    is_gone = is_event(EventName.DELETED, EventName.MOVED)
    hides, receives = is_event(EventName.HIDDEN), F.col("event").isin(_RECEIVES)
    by_message = Window.partitionBy("address")
    in_time = by_message.orderBy("time_ms", "receive_number", "at_ms", "number")
    before = in_time.rowsBetween(Window.unboundedPreceding, -1)
    about_now = by_message.orderBy("time_ms").rangeBetween(-skew_ms, skew_ms)
    shows = hides & (F.col("hidden_until_ms") <= F.col("at_ms"))
    is_shown_now = receives & F.max(shows).over(about_now)
    until_ms = F.last(F.when(hides | receives, F.col("hidden_until_ms")), ignorenulls=True).over(before)
    number = F.last(F.when(receives, F.col("receive_number")), ignorenulls=True).over(before)
    gone = F.min(F.when(is_gone, F.struct("at_ms", *_BY, "number"))).over(before)
    is_told_first = F.col("number") < gone["number"]
    for name in _BY:
        is_told_first &= F.col(name) == gone[name]
    is_replay = F.coalesce(receives & (number == F.col("receive_number")), F.lit(False))
    return timed.select(
        *_STEP_COLUMNS,
        "time_ms",
        (receives & ~is_replay).alias("is_delivery"),
        is_replay.alias("is_replay"),
        F.when(is_shown_now, F.col("time_ms")).otherwise(until_ms).alias("previous_until_ms"),
        F.last(F.when(hides | receives, F.col("event")), ignorenulls=True).over(before).alias("previous_event"),
        gone["at_ms"].alias("deleted_before_ms"),
        F.when(receives & is_told_first, F.col("received_ms") - gone["at_ms"]).alias("stepped_ms"),
    )


def hide_ms() -> Column:
    """When a change of the visibility counts from, not before its receive, whatever the clocks; null on other rows."""
    return F.when(is_event(EventName.HIDDEN), F.greatest(F.least("at_ms", "hidden_until_ms"), "received_ms"))


def with_time(moments: DataFrame) -> DataFrame:
    """And `time_ms`: when each happened."""
    asked_ms = F.coalesce(hide_ms(), F.when(F.col("event").isin(_RECEIVES), F.col("received_ms")))
    return moments.withColumn("time_ms", F.coalesce(asked_ms, F.col("at_ms")))


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
