"""The order of receives (`spark_jobs.order`), one part at a time.

    received place   0 1 2 3 4 5 6 7 …
    sent place       1 0│2│5 3 4│6 8 …        a part is counted where the order splits: everything before is smaller,
                                 └ pending     and no message still to come, or waiting, was sent before it

Counted parts add up to the figures of the whole. A message that waits while later ones are received holds them back,
and so does an order that never splits; but not for longer than two delays. After that, what was received up to a delay
ago is counted, and a message received later although it was sent before a counted one is `overtaken`: it is out of
order, by an unknown displacement. So the state is what was received within two delays of the mark.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.order import ORDER_RECEIVED, ORDER_SENT, order_of, places_of
from spark_jobs.positions import running_max
from spark_jobs.staged import staged, united
from spark_jobs.tables import QUEUE

_COLUMNS = [*QUEUE, *ORDER_SENT, "first_place", "first_received_ms"]
PENDING = (
    "account string, queue string, uid long, sequence long, address string, first_place long, first_received_ms long"
)
FLOORS = "uid long, floor struct<sequence: long, address: string>"
"""By queue: the last counted message in the order of sends."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The time up to which everything has arrived, for the batch before and for this one, and the delay before counting
    is forced."""

    before_ms: int
    settled_ms: int
    delay_ms: int


@dataclass(frozen=True, slots=True)
class Part:
    """`totals`: by queue and `is_closed` (final). `pending` and `floors`: the state."""

    totals: DataFrame
    pending: DataFrame
    floors: DataFrame


def part_of(pending: DataFrame, floors: DataFrame, lives: DataFrame, marks: Marks, stage: str) -> Part:
    """The part that ends in this batch. `lives`: those of all open messages; `stage` is a folder for intermediate
    files."""
    rows = staged(_rows(pending, floors, lives, marks), f"{stage}/rows")
    is_late = F.coalesce(_sent() <= F.col("floor"), F.lit(False))
    ahead = rows.where(~is_late)
    places = places_of(ahead, ["uid"], ORDER_SENT, ["is_waiting", *ORDER_RECEIVED], f"{stage}/all")
    cut = staged(_cuts(places, marks), f"{stage}/cuts")
    placed = ahead.join(places.select("uid", "address", "received"), ["uid", "address"]).join(cut, "uid", "left")
    is_closed = F.coalesce(F.col("received") <= F.col("cut"), F.lit(False))
    split = staged(placed.where("NOT is_waiting").withColumn("is_closed", is_closed), f"{stage}/split")
    split_places = places_of(split, ["uid", "is_closed"], ORDER_SENT, ORDER_RECEIVED, f"{stage}/parts")
    counted = order_of(split_places, ["uid", "is_closed"], f"{stage}/parts").select(
        "uid",
        "is_closed",
        F.col("messages").alias("placed"),
        F.col("longest").alias("in_order"),
        F.round(F.col("displacement") * F.col("messages")).cast("long").alias("displaced"),
    )
    queues = rows.select(*QUEUE).distinct()
    overtaken = (
        rows.where(is_late & ~F.col("is_waiting"))
        .groupBy("uid", (F.col("first_received_ms") <= marks.settled_ms).alias("is_closed"))
        .agg(F.count("*").alias("placed"), F.count("*").alias("overtaken"))
    )
    totals = united(counted, overtaken).join(queues, "uid")
    left = split.where(~F.col("is_closed") & (F.col("first_received_ms") <= marks.settled_ms)).select(*_COLUMNS)
    reached = split.where("is_closed").select("uid", _sent().alias("floor"))
    return Part(totals, left, united(floors, reached).groupBy("uid").agg(F.max("floor").alias("floor")))


def _rows(pending: DataFrame, floors: DataFrame, lives: DataFrame, marks: Marks) -> DataFrame:
    """What was received and is not counted, and of each queue the first waiting message; with the `floor`."""
    came = lives.where(F.expr("is_known AND deliveries > 0") & (F.col("first_received_ms") > marks.before_ms))
    received = united(pending, came.select(*_COLUMNS)).withColumn("is_waiting", F.lit(False))
    waits = lives.where("is_known AND deliveries = 0 AND fate = ''").join(F.broadcast(floors), "uid", "left")
    first = (
        waits.where(F.col("floor").isNull() | (_sent() > F.col("floor")))
        .groupBy(*QUEUE)
        .agg(F.min(_sent()).alias("first"))
        .select(
            *QUEUE,
            "first.sequence",
            "first.address",
            F.lit(0).cast("long").alias("first_place"),
            F.lit(None).cast("long").alias("first_received_ms"),
            F.lit(True).alias("is_waiting"),
        )
    )
    rows = united(received.dropDuplicates(["uid", "address"]), first)
    return rows.join(F.broadcast(floors), "uid", "left")


def _cuts(places: DataFrame, marks: Marks) -> DataFrame:
    """By queue: `cut`, the last received place that is counted now; -1 for none."""
    is_settled = ~F.col("is_waiting") & (F.col("first_received_ms") <= marks.settled_ms)
    edges = places.groupBy("uid").agg(
        F.coalesce(F.min(F.when(~is_settled, F.col("received"))), F.count("*")).alias("edge")
    )
    ends = running_max(places, ["uid"], "received", F.col("sent"), is_own_included=True).join(edges, "uid")
    inside = ends.where(F.col("received") < F.col("edge"))
    is_apart = F.col("running") == F.col("received")
    exact = inside.groupBy("uid").agg(F.coalesce(F.max(F.when(is_apart, F.col("received"))), F.lit(-1)).alias("exact"))
    is_old = F.col("first_received_ms") <= marks.settled_ms - marks.delay_ms
    is_too_old = F.col("first_received_ms") <= marks.settled_ms - 2 * marks.delay_ms
    left = inside.join(exact, "uid").groupBy("uid", "exact")
    forced = left.agg(
        F.max(F.when(is_old, F.col("received"))).alias("old"),
        F.max((F.col("received") > F.col("exact")) & is_too_old).alias("is_stuck"),
    )
    return forced.select(
        "uid", F.when(F.col("is_stuck"), F.greatest("exact", "old")).otherwise(F.col("exact")).alias("cut")
    )


def _sent() -> Column:
    return F.struct(*ORDER_SENT)
