"""Loss (BDQS, section V.A): ε = Mloss / M; lost is what was never received, or arrived with another checksum.

A message that was never received but expired, was purged, went with its queue or moved on is not lost: somebody decided
so. One that just waits, or was sent, or due, when nobody asked any more, is not lost either. The journal alone can't
tell waiting from lost; whoever drained the queues may say so, and `spark_jobs.reconcile` asks the store.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.findings import Kind, findings
from spark_jobs.staged import united
from spark_jobs.tables import is_event


def not_received(lives: DataFrame, asked: DataFrame) -> DataFrame:
    """Findings: acknowledged, never delivered, and nothing else ended them. `asked`: see `asked_of`."""
    waiting = lives.where("is_known AND deliveries = 0 AND fate = ''").join(F.broadcast(asked), "uid", "left")
    is_due = F.coalesce(F.greatest("sent_ms", "visible_ms") <= F.col("asked_ms"), F.lit(True))
    return united(
        findings(waiting.where(is_due), Kind.NOT_RECEIVED, at_ms=F.col("sent_ms"), detail=F.lit("")),
        findings(waiting.where(~is_due), Kind.NOT_DUE, at_ms=F.col("sent_ms"), detail=F.lit("")),
    )


def asked_of(events: DataFrame) -> DataFrame:
    """Of each queue (`uid`) that was received from: `asked_ms`, when it last was."""
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
    """Findings: delivered, but never sent as far as the journal goes."""
    unknown = lives.where("NOT is_known AND deliveries > 0")
    return findings(unknown, Kind.UNEXPECTED, at_ms=F.col("first_received_ms"), detail=F.lit(""))
