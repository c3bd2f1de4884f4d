"""The state of the streaming audit: events of messages that can still change, and totals of those that can't.

    moments of open messages (state n-1) ─┐
    moments of batch n ───────────────────┴─► lives, steps ─┬─► still open: their moments       (state n)
                                                            └─► settled ─► totals by queue      (n-1 + these)

The moments are those of the audit (`spark_jobs.tables`), so lives, steps and all formulas are the audit's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.findings import Kind
from spark_jobs.groups import column_of, fate_columns
from spark_jobs.hiding import is_hidden_too_short
from spark_jobs.latency import is_received, waited_ms
from spark_jobs.loss import is_corrupted
from spark_jobs.redelivery import DELETED, SHOWN, TIMED_OUT, TOO_SHORT, again, reason
from spark_jobs.resurrected import is_resurrected
from spark_jobs.staged import few, united
from spark_jobs.tables import ARRIVED, QUEUE, is_event

REASONS = {
    "again_timed_out": TIMED_OUT,
    "again_made_visible": SHOWN,
    "again_hidden_too_short": TOO_SHORT,
    "again_after_delete": DELETED,
}
_OF_LIVES = (
    *("acknowledged", "received", "deleted", "ended_otherwise", "waiting", "held", "duplicates", "corrupted", "late"),
)
_OF_STEPS = ("resurrected", "hidden_too_short", *REASONS)
_OF_ANSWERS = (column_of(Kind.NEVER_STORED),)
_OF_FIFO = (column_of(Kind.FIFO_ORDER), column_of(Kind.FIFO_TWO_CONSUMERS))
_OF_ORDER = ("placed", "in_order", "displaced", "overtaken")
_OF_RECEIVES = ("receives", "empty", "given_back")
COUNTS = (*_OF_LIVES, *_OF_STEPS, *_OF_ANSWERS, *_OF_FIFO, *_OF_ORDER, *_OF_RECEIVES, "latency_sum")
MOST = "latency_max"
TOTALS = ", ".join(("account string", "queue string", *(f"{name} long" for name in ("uid", *COUNTS, MOST))))
_ENDS = (EventName.DELETED, EventName.EXPIRED, EventName.MOVED)


def closing(moments: DataFrame, gone: DataFrame, settled_ms: int) -> DataFrame:
    """`is_closed` for each message: it ended, was deleted with its queue, or has no beginning, and no later event of it
    is logged. `gone` is the result of `spark_jobs.lives.gone_in`."""
    begins, heard_ms = is_event(EventName.SENT, ARRIVED), F.greatest("at_ms", "received_ms")
    uid, generation = (F.coalesce(F.max(F.when(begins, F.col(name))), F.max(name)) for name in ("uid", "generation"))
    told = moments.groupBy("address").agg(
        uid.alias("uid"),
        generation.alias("generation"),
        F.max(begins).alias("is_known"),
        F.max(is_event(*_ENDS)).alias("is_ended"),
        F.max(heard_ms).alias("last_ms"),
    )
    is_gone = (F.col("generation") < F.col("purged_below")) | F.col("queue_deleted_ms").isNotNull()
    is_over = F.col("is_ended") | ~F.col("is_known") | F.coalesce(is_gone, F.lit(False))
    is_closed = (is_over & (F.col("last_ms") <= settled_ms)).alias("is_closed")
    return told.join(F.broadcast(gone), "uid", "left").select("address", is_closed)


def counted(lives: DataFrame, steps: DataFrame, skew_ms: int) -> DataFrame:
    """Counts by queue and `is_closed`, which both have. A message that is not known is late: its beginning was counted
    before, or is not in the journal."""
    by, known = [*QUEUE, "is_closed"], F.col("is_known")
    of_lives = lives.groupBy(*by).agg(
        *fate_columns(),
        F.count_if(known & (F.col("deliveries") == 0) & (F.col("fate") == "")).alias("waiting"),
        F.count_if(is_corrupted()).alias("corrupted"),
        F.count_if(~known & F.col("is_closed")).alias("late"),
        _sum(F.when(is_received(), waited_ms())).alias("latency_sum"),
        F.max(F.when(is_received(), waited_ms())).alias(MOST),
    )
    of_steps = steps.groupBy(*by).agg(
        F.count_if(is_resurrected(skew_ms)).alias("resurrected"),
        F.count_if(F.expr(is_hidden_too_short(skew_ms))).alias("hidden_too_short"),
        *[F.count_if(again() & (reason(skew_ms) == why)).alias(name) for name, why in REASONS.items()],
    )
    return added(of_lives, of_steps, by=by)


def added(*parts: DataFrame, by: list[str] | None = None) -> DataFrame:
    """Sums of totals by queue; a part may lack columns, and columns that are not totals are dropped."""
    rows = united(few(parts[0].sparkSession, [], TOTALS), *parts)
    counts = [_sum(F.col(name)).alias(name) for name in COUNTS]
    return rows.groupBy(*(by or QUEUE)).agg(*counts, F.max(MOST).alias(MOST))


def gone_of(spark: SparkSession, gone: Mapping[int, tuple[int | None, int | None, int | None]]) -> DataFrame:
    """By queue uid: the generation below which everything was purged, when it was last purged, and when it was
    deleted."""
    rows = [(uid, *told) for uid, told in gone.items()]
    return few(spark, rows, "uid long, purged_below long, purged_ms long, queue_deleted_ms long")


def _sum(value: Column) -> Column:
    return F.coalesce(F.sum(value), F.lit(0)).cast("long")
