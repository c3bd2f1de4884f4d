"""How far receives deviate from the order of sends (BDQS, section V.A), excluding duplicates.

    out-of-order rate      (M - L) / M, L = length of the longest increasing subsequence       2,1,3,4,5 → 20 %
    average displacement   mean of |received place - correct place|                            2,1,3,4,5 → 0.4

Exact for any M, in bounded memory. A received order splits into parts wherever everything before is smaller than
everything after, and the longest subsequences of the parts add up:

    received place   0 1 2 3 4 5 6         correct places before a cut are all smaller: the running maximum
    correct place    1 0│2│5 3 4│6         equals the place
    L =              1  +1+  2  +1  = 5

Parts of one message, which are nearly all when order is good, are only counted. Each other part is streamed through
patience sorting by one task: 4 bytes per pile, so 40 MB for ten million messages in the worst case (the message sent
first is received last), and a few kB for a random order.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.positions import placed, running_max
from spark_jobs.staged import staged, together

if TYPE_CHECKING:
    import pyarrow as pa

ORDER_SENT = ["sequence", "address"]
"""Lives in the order of sends: by sequence number in a FIFO queue, by address in others."""
ORDER_RECEIVED = ["first_place", "first_received_ms", "address"]
_GROUP = "received_base"


def places_of(
    messages: DataFrame, by: Sequence[str], sent: Sequence[str], received: Sequence[str], stage: str
) -> DataFrame:
    """Each message's group, `received` columns, and two places counted from 0: "sent", the correct one, and "received".
    `sent` and `received` are the columns that order sends and receives; each must define a total order."""
    wanted = messages.select(*dict.fromkeys([*by, *sent, *received]))
    in_sent = placed(wanted, by, sent, "sent", f"{stage}/sent").select(*by, "sent", *received)
    places = placed(in_sent, by, received, "received", f"{stage}/received")
    return staged(places, f"{stage}/places")


def order_of(places: DataFrame, by: Sequence[str], stage: str) -> DataFrame:
    """For each group: `messages`, `longest` (L), `out_of_order` (a rate), `displacement` (in places). `places` is the
    result of `places_of`; `stage` is a folder for intermediate files."""
    totals = places.groupBy(*by, _GROUP).agg(
        F.count("*").alias("messages"), F.avg(F.abs(F.col("received") - F.col("sent"))).alias("displacement")
    )
    longest = _longest(places.select(_GROUP, "sent", "received"), stage)
    return totals.join(longest, _GROUP).select(
        *by,
        "messages",
        "longest",
        ((F.col("messages") - F.col("longest")) / F.col("messages")).alias("out_of_order"),
        "displacement",
    )


def order_by(order: DataFrame, messages: DataFrame, by: Sequence[str], stage: str) -> DataFrame:
    """For each group of `messages`, which may span several queues: `messages`, and `out_of_order` and
    `displacement`, the means over its queues weighted by messages. Places are computed within each queue and group,
    because places in different queues are not comparable. `order` is that of whole queues, by `uid`; it is reused if
    each queue has only one group. `messages` have `uid` and the columns named in ORDER_SENT and ORDER_RECEIVED.
    Counts (runs Spark jobs)."""
    parts = messages.groupBy("uid", *by).agg(F.lit(1).alias("_")).drop("_")
    if parts.count() == order.count():
        ranked = order.join(parts, "uid")
    else:
        names = list(dict.fromkeys(["uid", *by]))
        ranked = order_of(places_of(messages, names, ORDER_SENT, ORDER_RECEIVED, stage), names, stage)
    count = F.sum("messages")
    means = [(F.sum(F.col(name) * F.col("messages")) / count).alias(name) for name in ("out_of_order", "displacement")]
    return ranked.groupBy(*by).agg(count.alias("messages"), *means)


def _longest(places: DataFrame, stage: str) -> DataFrame:
    """`longest` by group."""
    before = running_max(places, [_GROUP], "received", F.col("sent"), is_own_included=False)
    is_start = F.col("running") == F.col("received") - 1
    is_alone = is_start & (F.col("sent") == F.col("received"))
    marked = before.select(_GROUP, "sent", "received", is_start.alias("is_start"), is_alone.alias("is_alone"))
    marked = staged(marked, f"{stage}/parts")
    alone = marked.groupBy(_GROUP).agg(F.count_if("is_alone").alias("alone"))
    start = F.when(F.col("is_start"), F.col("received"))
    parts = running_max(marked.where("NOT is_alone"), [_GROUP], "received", start, is_own_included=True)
    named = parts.select(F.col(_GROUP).alias("group"), F.col("running").alias("part"), "received", "sent")
    ordered = together(named, "group", "part").sortWithinPartitions("group", "part", "received")
    lengths = ordered.mapInArrow(_lengths, "group long, length long")
    tangled = lengths.groupBy(F.col("group").alias(_GROUP)).agg(F.sum("length").alias("tangled"))
    longest = F.col("alone") + F.coalesce("tangled", F.lit(0))
    return alone.join(tangled, _GROUP, "left").select(_GROUP, longest.alias("longest"))


class Piles:
    """Patience sorting of distinct numbers below 2³¹, fed one after the other."""

    def __init__(self) -> None:
        self._tops = array("i")

    def add(self, values: Iterable[int]) -> None:
        tops = self._tops
        for value in values:
            if not tops or value > tops[-1]:
                tops.append(value)
            else:
                tops[bisect_left(tops, value)] = value

    def __len__(self) -> int:
        """Length of the longest increasing subsequence of the numbers added so far."""
        return len(self._tops)


def _lengths(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    """One row per part that ends in this task: its group and the length of its longest subsequence."""
    import pyarrow as pa

    def told(group: int, length: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"group": [group], "length": [length]})

    piles, present = Piles(), None
    for batch in batches:
        columns = batch.to_pydict()
        keys = list(zip(columns["group"], columns["part"], strict=True))
        for first, end in _runs(keys):
            if keys[first] != present:
                if present is not None:
                    yield told(present[0], len(piles))
                piles, present = Piles(), keys[first]
            piles.add(columns["sent"][first:end])
    if present is not None:
        yield told(present[0], len(piles))


def _runs(keys: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Start and end of each run of equal neighbours."""
    first = 0
    for end in range(1, len(keys) + 1):
        if end == len(keys) or keys[end] != keys[first]:
            yield first, end
            first = end
