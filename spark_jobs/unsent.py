"""Messages that nobody sent according to the journal, and possible other explanations.

answered     a send was answered as a duplicate of the message (by its deduplication ID): so somebody sent it. If it
             is nowhere, the answer promised a message that does not exist
doubtful     a send or delete of it had an unknown outcome, and its client was told so: it may or may not exist
older        it was sent before the journal began
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.findings import COLUMNS, Kind, findings
from spark_jobs.staged import small
from spark_jobs.tables import is_event

_UNSENT = (Kind.UNEXPECTED, Kind.ORPHAN)


def never_stored(events: DataFrame, lives: DataFrame, stored: DataFrame | None) -> DataFrame:
    """Findings: answered, but neither sent nor mentioned again, nor in the store if that is given."""
    answered = (
        events.where(is_event(EventName.DEDUPLICATED))
        .groupBy("account", "queue", "uid", "address")
        .agg(F.min("at_ms").alias("at_ms"), F.lit("").alias("tenant"), F.lit("").alias("run"))
    )
    there = lives.where("is_known OR deliveries > 0 OR fate != ''").select("address")
    if stored is not None:
        there = there.union(stored.select("address"))
    nowhere = answered.join(there, "address", "left_anti")
    return findings(nowhere, Kind.NEVER_STORED, at_ms=F.col("at_ms"), detail=F.lit(""))


def explained(
    found: DataFrame,
    events: DataFrame,
    began_ms: int,
    *,
    skew_ms: int = 0,
    is_drained: bool = False,
    has_store: bool = False,
) -> DataFrame:
    """The findings that neither an answer nor a doubtful outcome explains; those sent before `began_ms` become OLDER.
    Unless queues were drained or there is a store, a message of a doubtful send that was answered later may wait
    (NOT_RECEIVED)."""
    is_doubtful = is_event(EventName.DOUBTFUL)
    tried = (
        events.where(is_doubtful | is_event(EventName.DEDUPLICATED))
        .groupBy("address")
        .agg(F.max("at_ms").alias("tried_ms"), F.max(F.when(is_doubtful, F.col("at_ms"))).alias("doubtful_ms"))
    )
    told = found.join(small(tried), "address", "left")
    gone = (Kind.LOST, Kind.NOT_RECEIVED) if is_drained else (Kind.LOST,)
    was_deleted = _is(*gone) & (F.col("doubtful_ms") + skew_ms > F.col("at_ms"))
    is_explained = (_is(*_UNSENT) & F.col("tried_ms").isNotNull()) | was_deleted
    is_older = _is(*_UNSENT, Kind.NEVER_STORED) & (sent_at_ms(F.col("address")) < began_ms)
    may_wait = _is(Kind.NEVER_STORED) & F.col("doubtful_ms").isNotNull() & F.lit(not (is_drained or has_store))
    kind = F.when(is_older, Kind.OLDER.value).when(may_wait, Kind.NOT_RECEIVED.value).otherwise(F.col("kind"))
    return told.where(~F.coalesce(is_explained, F.lit(False))).withColumn("kind", kind).select(*COLUMNS)


def sent_at_ms(address: Column) -> Column:
    """When a message was assigned its address (`cqs.ids`), by the clock of its node."""
    digits = F.concat(F.substring(address, 1, 8), F.substring(address, 10, 4))
    return F.shiftright(F.conv(digits, 16, 10).cast("long"), 6)


def _is(*kinds: Kind) -> Column:
    return F.col("kind").isin([kind.value for kind in kinds])
