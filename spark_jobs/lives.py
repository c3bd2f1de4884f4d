"""One row per message: sent, received, ended. A message is identified by its address, which never changes; a move to
another queue ends one life and begins another.

    moments ──► sums ─┬─► plain      received at most once and nothing unusual: nearly all, and already lives
                      └─► eventful ──► steps ──► lives      the order of events matters

Sums are one hash aggregation whose buffers hold only numbers, because Spark would fall back to sorting for a text: a
queue is represented by its uid, a body's checksum by 128 bits of hash, and tenant, run and sender together by 128 bits
of hash, which a small table resolves. The checksum's text is kept only for eventful messages.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.staged import small, staged
from spark_jobs.tables import ARRIVED, QUEUE, hide_ms, is_event

_LABELS = ["tenant", "run", "sender"]
_LABEL = ["label_1", "label_2"]
BODY = ["body_1", "body_2"]
"""A 128-bit hash of the checksum that a message was sent with."""
_CAME = ["came_1", "came_2"]
_WENT = ["went_1", "went_2"]
"""The same for what was received, and for what was moved."""
_BEGINS = (EventName.SENT, ARRIVED)
_RECEIVES = (EventName.RECEIVED, EventName.FROM_STORE)
_LIFE = [
    *("address", *QUEUE, "generation", "is_fifo", "tenant", "sequence", "run", "sender", "index", "is_known"),
    *("is_arrival", *BODY, "md5", "sent_ms", "visible_ms", "deliveries", "first_place", "first_received_ms"),
    *("received_md5_min", "received_md5_max", "deleted_ms", "expired_ms", "moved_ms"),
]
GONE_MS = 60_000
"""A purge or queue deletion takes up to this long (SQS); a send acknowledged after that went to an existing queue."""
_IS_EVENTFUL = (
    "receives > 1 OR given_back > 0 OR hide_ms <= received_ms OR deleted_ms < received_ms OR moved_ms < received_ms "
    "OR came_1 != body_1 OR came_2 != body_2 OR went_1 != body_1 OR went_2 != body_2 "
    "OR is_fifo AND (expired_ms IS NOT NULL OR moved_ms IS NOT NULL)"
)


def hashes(names: list[str], *of: Column) -> list[Column]:
    """Two columns of 64 bits each, with different seeds."""
    return [F.xxhash64(F.lit(seed), *of).alias(name) for seed, name in enumerate(names)]


def sums_of(moments: DataFrame) -> DataFrame:
    """One row of numbers per message; `is_eventful`: the sums do not fully describe it."""
    begins, receives = is_event(*_BEGINS), is_event(*_RECEIVES)
    has_label = F.concat(*_LABELS) != ""
    label = [F.when(has_label, one).alias(name) for one, name in zip(_label_hashes(), _LABEL, strict=True)]
    numbered = moments.select("*", *hashes(BODY, F.col("md5")), *label)

    def at_start(name: str) -> Column:
        return F.coalesce(F.max(F.when(begins, F.col(name))), F.max(name)).alias(name)

    def once(condition: Column, name: str, called: str) -> Column:
        return F.max(F.when(condition, F.col(name))).alias(called)

    summed = (
        numbered.where(~is_event(EventName.DOUBTFUL))
        .groupBy("address")
        .agg(
            *[F.max(name).alias(name) for name in ("uid", "is_fifo", "sequence", "index")],
            *[at_start(name) for name in ("generation", *_LABEL)],
            *_begin_columns(begins),
            F.count_if(receives).alias("receives"),
            F.count_if(is_event(EventName.GIVEN_BACK)).alias("given_back"),
            F.min(hide_ms()).alias("hide_ms"),
            once(receives, "receive_number", "receive_number"),
            once(receives, "received_ms", "received_ms"),
            *[once(receives, name, came) for name, came in zip(BODY, _CAME, strict=True)],
            *[once(is_event(EventName.MOVED), name, went) for name, went in zip(BODY, _WENT, strict=True)],
            *_end_columns(),
        )
    )
    return summed.withColumn("is_eventful", F.coalesce(F.expr(_IS_EVENTFUL), F.lit(False)))


def eventful(moments: DataFrame, sums: DataFrame, how: str = "left_semi") -> DataFrame:
    """The moments of messages that their sums do not fully describe; with `left_anti`: of the others."""
    return moments.join(small(sums.where("is_eventful").select("address")), "address", how)


def lives_of(steps: DataFrame) -> DataFrame:
    """Lives of eventful messages. `is_known`: the send or arrival is in the journal. Times in ms; null if it did not
    happen."""
    begins, delivers = is_event(*_BEGINS), F.col("is_delivery")
    passes_on = delivers | is_event(EventName.MOVED)

    def at_start(name: str) -> Column:
        return F.coalesce(F.max(F.when(begins, F.col(name))), F.max(name)).alias(name)

    names = [*QUEUE, "generation", "is_fifo", *_LABELS, "sequence", "index"]
    return (
        steps.where(~is_event(EventName.DOUBTFUL))
        .select("*", *hashes(BODY, F.col("md5")))
        .groupBy("address")
        .agg(
            *[at_start(name) for name in names],
            *_begin_columns(begins),
            F.max(F.when(begins, F.col("md5"))).alias("md5"),
            F.count_if(delivers).alias("deliveries"),
            F.min(F.when(delivers, F.col("receive_number"))).alias("first_place"),
            F.min(F.when(delivers, F.col("received_ms"))).alias("first_received_ms"),
            F.min(F.when(passes_on, F.col("md5"))).alias("received_md5_min"),
            F.max(F.when(passes_on, F.col("md5"))).alias("received_md5_max"),
            *_end_columns(),
        )
        .select(*_LIFE)
    )


def plain_lives_of(sums: DataFrame, moments: DataFrame, stage: str) -> DataFrame:
    """Lives of messages that are not eventful. `stage` is a folder for intermediate files."""
    queues = staged(moments.groupBy(*QUEUE).agg(F.lit(1).alias("_")).drop("_"), f"{stage}/names")
    texts = moments.select(*[one.alias(name) for one, name in zip(_label_hashes(), _LABEL, strict=True)], *_LABELS)
    labels = staged(texts.where(F.concat(*_LABELS) != "").distinct(), f"{stage}/labels")
    told = {
        "deliveries": F.col("receives"),
        "first_place": F.col("receive_number"),
        "first_received_ms": F.col("received_ms"),
        **{name: F.lit(None).cast("string") for name in ("md5", "received_md5_min", "received_md5_max")},
        **{name: F.coalesce(name, F.lit("")) for name in _LABELS},
    }
    named = sums.where("NOT is_eventful").join(queues, "uid").join(labels, _LABEL, "left")
    return named.select([told.get(name, F.col(name)).alias(name) for name in _LIFE])


def gone_in(events: DataFrame) -> DataFrame:
    """For each queue (`uid`) that was purged or deleted: `purged_below`, the remaining generation; `purged_ms`, when it
    was last purged; and `queue_deleted_ms`; null if it was not."""
    is_purged, is_deleted = is_event(EventName.PURGED), is_event(EventName.QUEUE_DELETED)
    return (
        events.where(is_purged | is_deleted)
        .groupBy("uid")
        .agg(
            F.max(F.when(is_purged, F.col("generation"))).alias("purged_below"),
            F.max(F.when(is_purged, F.col("at_ms"))).alias("purged_ms"),
            F.min(F.when(is_deleted, F.col("at_ms"))).alias("queue_deleted_ms"),
        )
    )


def with_fate(lives: DataFrame, gone: DataFrame) -> DataFrame:
    """Adds `fate`: what ended them, "" = nothing yet, and `ended_ms`: when. `gone` is the result of `gone_in`. A
    message sent more than GONE_MS after its queue was purged or deleted is not ended by that."""

    def went(gone_ms: str) -> Column:
        return F.coalesce(F.col("sent_ms") <= F.col(gone_ms) + GONE_MS, F.lit(True))

    is_purged = (F.col("generation") < F.col("purged_below")) & went("purged_ms")
    fate = (
        F.when(F.col("deleted_ms").isNotNull(), "deleted")
        .when(F.col("moved_ms").isNotNull(), "moved")
        .when(F.col("expired_ms").isNotNull(), "expired")
        .when(is_purged, "purged")
        .when(F.col("queue_deleted_ms").isNotNull() & went("queue_deleted_ms"), "queue deleted")
        .otherwise("")
    )
    gone_ms = F.when(is_purged, F.col("purged_ms")).otherwise(F.col("queue_deleted_ms"))
    ended_ms = F.when(fate != "", F.coalesce("deleted_ms", "moved_ms", "expired_ms", gone_ms))
    joined = lives.join(F.broadcast(gone), "uid", "left").withColumns({"fate": fate, "ended_ms": ended_ms})
    return joined.drop("purged_below", "purged_ms", "queue_deleted_ms")


def _label_hashes() -> list[Column]:
    return hashes(_LABEL, *map(F.col, _LABELS))


def _begin_columns(begins: Column) -> list[Column]:
    return [
        F.max(begins).alias("is_known"),
        F.max(is_event(ARRIVED)).alias("is_arrival"),
        *[F.max(F.when(begins, F.col(name))).alias(name) for name in BODY],
        F.min(F.when(begins, F.col("at_ms"))).alias("sent_ms"),
        F.max(F.when(begins, F.col("visible_ms"))).alias("visible_ms"),
    ]


def _end_columns() -> list[Column]:
    ends = {"deleted_ms": EventName.DELETED, "expired_ms": EventName.EXPIRED, "moved_ms": EventName.MOVED}
    return [F.min(F.when(is_event(event), F.col("at_ms"))).alias(name) for name, event in ends.items()]
