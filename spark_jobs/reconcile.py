"""Reconciles the store with the journal: what should be stored, and what is.

                          in the store              not in the store
    sent, not ended       fine                      lost        also if only its receive is recorded
    ended                 ended but still stored    fine
    unknown to journal    orphan

A message that was never received and is still stored is only waiting; this distinguishes waiting from lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.findings import Kind, findings
from spark_jobs.lives import BODY, hashes
from spark_jobs.staged import united

_STORED = ["stored_1", "stored_2"]


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Counts of messages."""

    stored: int = 0
    lost: int = 0
    orphans: int = 0
    still_stored: int = 0
    corrupted: int = 0


def reconcile(lives: DataFrame, stored: DataFrame) -> DataFrame:
    """Findings LOST, ORPHAN, STILL_STORED, STORED_CORRUPTED. `stored`: see `spark_jobs.stored`."""
    bodies = hashes(_STORED, F.col("md5"))
    there = stored.select("address", *bodies, F.col("uid").alias("stored_uid"))
    both = lives.join(there, "address", "full_outer")
    is_stored, ended = F.col("stored_uid").isNotNull(), F.coalesce(F.col("fate") != "", F.lit(False))
    is_known, is_received = F.coalesce("is_known", F.lit(False)), F.coalesce(F.col("deliveries") > 0, F.lit(False))
    differs = (F.col(_STORED[0]) != F.col(BODY[0])) | (F.col(_STORED[1]) != F.col(BODY[1]))
    rows = [
        (Kind.LOST, (is_known | is_received) & ~ended & ~is_stored),
        (Kind.ORPHAN, is_stored & F.col("is_known").isNull()),
        (Kind.STILL_STORED, is_stored & ended),
        (Kind.STORED_CORRUPTED, is_stored & differs),
    ]
    named = both.withColumn("uid", F.coalesce("uid", "stored_uid"))
    fate = F.coalesce("fate", F.lit(""))
    details = {Kind.LOST: F.when(is_known, "").otherwise("received, but its send is not recorded")}
    times = {Kind.STILL_STORED: F.col("ended_ms"), Kind.LOST: F.coalesce("sent_ms", "first_received_ms")}
    parts = [
        findings(named.where(wrong), kind, at_ms=times.get(kind, F.col("sent_ms")), detail=details.get(kind, fate))
        for kind, wrong in rows
    ]
    return united(*parts)


def counts_of(found: DataFrame, stored: DataFrame) -> Reconciled:
    """The counts, from findings."""
    kinds = {row["kind"]: row["count"] for row in found.groupBy("kind").count().collect()}
    return Reconciled(
        stored=stored.count(),
        lost=kinds.get(Kind.LOST.value, 0),
        orphans=kinds.get(Kind.ORPHAN.value, 0),
        still_stored=kinds.get(Kind.STILL_STORED.value, 0),
        corrupted=kinds.get(Kind.STORED_CORRUPTED.value, 0),
    )
