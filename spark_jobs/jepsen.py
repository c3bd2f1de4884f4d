"""A run as its clients saw it, in the terms of Jepsen's total-queue checker. Needs no journal.

    attempts       distinct messages that a client tried to send
    acknowledged   of these, those whose send was acknowledged
    ok             acknowledged and received
    lost           acknowledged, never received
    recovered      outcome unknown, but received
    duplicated     receives of a message after its first
    unexpected     received, though nobody tried to send it

A message is identified by (sender, index). A send that was retried after an unknown outcome may exist twice; its second
receive counts as duplicated here, because a client can't tell the difference; the journal can.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def total_queue(observations: DataFrame) -> dict[str, int]:
    """The counts of one run, and `corrupted`: receives whose body did not match its own checksum."""
    sends = F.col("event") == "send"
    receives = (F.col("event") == "receive") & (F.col("outcome") == "ok")
    by_message = (
        observations.where((sends | receives) & ((F.col("index") >= 0) | receives))
        .groupBy("sender", "index")
        .agg(
            F.max(sends).alias("tried"),
            F.max(sends & (F.col("outcome") == "ok")).alias("acked"),
            F.count_if(receives).alias("received"),
            F.count_if(receives & ~F.col("is_intact")).alias("corrupted"),
        )
    )
    got = F.col("received") > 0
    counts = by_message.agg(
        F.count_if("tried").alias("attempts"),
        F.count_if("acked").alias("acknowledged"),
        F.count_if(F.col("acked") & got).alias("ok"),
        F.count_if(F.col("acked") & ~got).alias("lost"),
        F.count_if(F.col("tried") & ~F.col("acked") & got).alias("recovered"),
        F.coalesce(F.sum(F.when(F.col("received") > 1, F.col("received") - 1)), F.lit(0)).alias("duplicated"),
        F.coalesce(F.sum(F.when(~F.col("tried"), F.col("received"))), F.lit(0)).alias("unexpected"),
        F.coalesce(F.sum("corrupted"), F.lit(0)).alias("corrupted"),
    )
    return {name: int(count) for name, count in counts.collect()[0].asDict().items()}
