"""Duplicates (BDQS, section V.A): λ = Mdup / M, where Mdup counts every delivery of a message after its first.

A receive given back was no delivery; a repeat by the same attempt id is the same delivery. Whether the queue had a
right to deliver again is a question of its own (`spark_jobs.redelivery`); λ counts either way, as receivers see it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.findings import Kind, findings


def duplicates(lives: DataFrame) -> DataFrame:
    """Findings: one a message, with how many deliveries were too many."""
    extra = F.col("deliveries") - 1
    return findings(
        lives.where("deliveries > 1"),
        Kind.DUPLICATE,
        at_ms=F.col("first_received_ms"),
        amount=extra,
        detail=F.concat(F.col("deliveries").cast("string"), F.lit(" deliveries")),
    )


def sent_again(lives: DataFrame) -> DataFrame:
    """Findings: messages that repeat an index of their run's sender, which a sender does that got no answer. They are
    no duplicates of the queue's."""
    numbered = lives.where("is_known AND NOT is_arrival AND sender != '' AND index >= 0")
    first = numbered.groupBy("run", "sender", "index").agg(F.min("address").alias("first"), F.count("*").alias("sends"))
    again = numbered.join(first.where("sends > 1"), ["run", "sender", "index"]).where("address != first")
    return findings(again, Kind.SENT_AGAIN, at_ms=F.col("sent_ms"), detail=F.col("first"))
