"""Duplicates (BDQS, section V.A): λ = Mdup / M, where Mdup counts every delivery of a message after its first.

A receive that was returned to the queue is not a delivery; a repeat with the same attempt ID is the same delivery.
Whether the queue was entitled to deliver again is a separate question (`spark_jobs.redelivery`); λ counts every
redelivery, as receivers see it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.findings import Kind, findings


def duplicates(lives: DataFrame) -> DataFrame:
    """Findings: one per message, with the number of excess deliveries."""
    extra = F.col("deliveries") - 1
    return findings(
        lives.where("deliveries > 1"),
        Kind.DUPLICATE,
        at_ms=F.col("first_received_ms"),
        amount=extra,
        detail=F.concat(F.col("deliveries").cast("string"), F.lit(" deliveries")),
    )


def sent_again(lives: DataFrame) -> DataFrame:
    """Findings: messages that repeat an index of their run's sender, because the sender got no answer and retried. They
    are not the queue's duplicates."""
    numbered = lives.where("is_known AND NOT is_arrival AND sender != '' AND index >= 0")
    first = numbered.groupBy("run", "sender", "index").agg(F.min("address").alias("first"), F.count("*").alias("sends"))
    again = numbered.join(first.where("sends > 1"), ["run", "sender", "index"]).where("address != first")
    return findings(again, Kind.SENT_AGAIN, at_ms=F.col("sent_ms"), detail=F.col("first"))
