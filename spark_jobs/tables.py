"""What happened to each message, step by step.

    moments  one row per event of a message, as logged; a moved message also arrives in the other queue
    steps    the same in order of time, each with the state that the previous step left:

            sent ── received (hidden until 30) ── hidden (until 5) ── received at 6 …
                                                                      previous_until_ms = 5: correctly visible again

A receive whose message was returned does not count, and a repeat with the same attempt ID (same receive number) is the
same receive. Changes that make a message visible immediately count from when they were requested: they are logged after
they are durable, and the message may be received again before that.

Steps are sorted by message, which is the most expensive operation; only messages for which the order of steps matters
need it (`spark_jobs.lives`).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cqs.events import EventName
from spark_jobs.schema import line_schema
from spark_jobs.staged import united

ARRIVED = "arrived"
"""The step with which a moved message begins its life in the other queue."""
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
    """The schema of moments."""
    fields = {field.name: field for field in line_schema()}
    return StructType([fields[name] for name in _STEP_COLUMNS])


def is_event(*names: EventName | str) -> Column:
    """Whether a row is one of these events."""
    return F.col("event").isin([str(name) for name in names])


def moments_of(events: DataFrame) -> DataFrame:
    """Events of messages, plus the arrival of moved messages in the other queue. A doubtful outcome says only that the
    message may no longer hold up its FIFO group."""
    is_doubt = is_event(EventName.DOUBTFUL) & F.col("is_fifo")
    own = events.where(is_event(*_KINDS, EventName.GIVEN_BACK) | is_doubt).select(*_STEP_COLUMNS)
    return united(own, arrivals_of(events))


def plain_steps_of(moments: DataFrame) -> DataFrame:
    """Steps of messages that were received at most once, without the state from previous steps."""
    nothing = {"previous_until_ms": "long", "previous_event": "string"}
    nothing |= {"deleted_before_ms": "long", "stepped_ms": "long"}
    return (
        with_time(moments.where(~is_event(EventName.GIVEN_BACK)))
        .withColumn("is_delivery", F.col("event").isin(_RECEIVES))
        .withColumn("is_replay", F.lit(False))
        .withColumns({name: F.lit(None).cast(kind) for name, kind in nothing.items()})
    )


def steps_of(moments: DataFrame, skew_ms: int = 0) -> DataFrame:
    """What happened to messages, with clocks that differ by up to `skew_ms`: each step with `time_ms`, `is_delivery`,
    `is_replay`; from the previous step that hid the message, `previous_until_ms` (null: none) and `previous_event`;
    `deleted_before_ms`: when it had been deleted or moved to another queue; `stepped_ms`: by how much that is earlier
    than this receive, although the same server logged it later."""
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
    """When a visibility change takes effect, but never before its receive, whatever the clocks; null on other rows."""
    return F.when(is_event(EventName.HIDDEN), F.greatest(F.least("at_ms", "hidden_until_ms"), "received_ms"))


def with_time(moments: DataFrame) -> DataFrame:
    """Adds `time_ms`: when each event happened."""
    asked_ms = F.coalesce(hide_ms(), F.when(F.col("event").isin(_RECEIVES), F.col("received_ms")))
    return moments.withColumn("time_ms", F.coalesce(asked_ms, F.col("at_ms")))


def arrivals_of(events: DataFrame) -> DataFrame:
    """The arrivals of moved messages in the other queue."""
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
