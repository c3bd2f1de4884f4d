"""Loss (BDQS, section V.A): ε = Mloss / M; a message is lost if it was never received, or arrived with a different
checksum.

A message that was never received but expired, was purged, was deleted with its queue or was moved is not lost: somebody
decided so. A message that is still waiting is not lost either, nor one that was sent or became visible after the last
receive. The journal alone can't distinguish waiting from lost; whoever drained the queues can state it, and
`spark_jobs.reconcile` checks the store.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.findings import Kind, findings
from spark_jobs.staged import united
from spark_jobs.tables import is_event


def not_received(lives: DataFrame, asked: DataFrame, skew_ms: int = 0) -> DataFrame:
    """Findings: acknowledged, never delivered, and not ended otherwise. `asked`: see `asked_of`; by a clock that may be
    `skew_ms` ahead of the sender's."""
    waiting = lives.where("is_known AND deliveries = 0 AND fate = ''").join(F.broadcast(asked), "uid", "left")
    is_due = F.coalesce(F.greatest("sent_ms", "visible_ms") + skew_ms <= F.col("asked_ms"), F.lit(True))
    return united(
        findings(waiting.where(is_due), Kind.NOT_RECEIVED, at_ms=F.col("sent_ms"), detail=F.lit("")),
        findings(waiting.where(~is_due), Kind.NOT_DUE, at_ms=F.col("sent_ms"), detail=F.lit("")),
    )


def asked_of(events: DataFrame) -> DataFrame:
    """For each queue (`uid`) that was received from: `asked_ms`, the time of the last receive."""
    receives = events.where(is_event(EventName.RECEIVED, EventName.FROM_STORE, EventName.RECEIVED_NOTHING))
    is_empty = is_event(EventName.RECEIVED_NOTHING) & (F.col("received_ms") > 0)
    asked_ms = F.when(is_empty, F.col("received_ms")).otherwise(F.col("at_ms"))
    return receives.groupBy("uid").agg(F.max(asked_ms).alias("asked_ms"))


def is_corrupted() -> Column:
    """The condition on lives."""
    return (F.col("received_md5_min") != F.col("md5")) | (F.col("received_md5_max") != F.col("md5"))


def corrupted(lives: DataFrame) -> DataFrame:
    """Findings: delivered, or moved to another queue, with a body whose MD5 is not that of the body sent."""
    wrong = F.when(F.col("received_md5_min") != F.col("md5"), F.col("received_md5_min"))
    return findings(
        lives.where(is_corrupted()),
        Kind.CORRUPTED,
        at_ms=F.coalesce("first_received_ms", "moved_ms"),
        detail=F.concat_ws(" ", F.lit("sent"), "md5", F.lit("received"), F.coalesce(wrong, F.col("received_md5_max"))),
    )


def unexpected(lives: DataFrame) -> DataFrame:
    """Findings: delivered, but never sent according to the journal."""
    unknown = lives.where("NOT is_known AND deliveries > 0")
    return findings(unknown, Kind.UNEXPECTED, at_ms=F.col("first_received_ms"), detail=F.lit(""))
