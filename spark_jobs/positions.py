"""Places in an order, exact and without a single task that sees the whole order.

    range-partitioned sort        partition 0: a b c │ partition 1: d e │ partition 2: f
    place in the partition                     0 1 2                0 1                0
    + rows in partitions before                0 1 2                3 4                5
    - first place of the group                 each group counts from 0

The sorted rows are staged as Parquet together with their places, because repeating a range sort may partition
differently.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.staged import in_ranges, staged

_ROW_BITS = 33
"""monotonically_increasing_id: the partition in the high bits, the row within it in the low bits."""
BUCKET_ROWS = 100_000


def placed(rows: DataFrame, by: Sequence[str], keys: Sequence[str], name: str, stage: str) -> DataFrame:
    """The rows with column `name`: their place, counted from 0, in the order of `keys` within their group `by`; and
    `{name}_base`: a number unique to the group. `stage` is a folder for intermediate files."""
    order = [*by, *keys]
    numbered = staged(in_ranges(rows, *order).withColumn("_at", F.monotonically_increasing_id()), stage)
    cut = numbered.withColumn("_part", F.shiftright("_at", _ROW_BITS))
    sizes = cut.groupBy("_part").agg(F.count("*").alias("_rows"))
    above = Window.orderBy("_part").rowsBetween(Window.unboundedPreceding, -1)
    offsets = sizes.select("_part", F.coalesce(F.sum("_rows").over(above), F.lit(0)).alias("_offset"))
    row_mask = (1 << _ROW_BITS) - 1
    place = F.col("_offset") + F.col("_at").bitwiseAND(F.lit(row_mask))
    counted = cut.join(F.broadcast(offsets), "_part").withColumn("_place", place).drop("_part", "_offset", "_at")
    base = f"{name}_base"
    bases = counted.groupBy(*by).agg(F.min("_place").alias(base))
    return counted.join(bases, list(by)).withColumn(name, F.col("_place") - F.col(base)).drop("_place")


def running_max(
    rows: DataFrame, by: Sequence[str], position: str, value: Column, *, is_own_included: bool
) -> DataFrame:
    """The rows with column `running`: the largest `value` up to their `position` (from 0, dense) in their group, -1 for
    none. Computed in buckets of BUCKET_ROWS: the maximum of earlier buckets is carried over, so no window spans more
    rows."""
    bucketed = rows.withColumn("_bucket", F.floor(F.col(position) / BUCKET_ROWS)).withColumn("_value", value)
    largest = bucketed.groupBy(*by, "_bucket").agg(F.max("_value").alias("_largest"))
    earlier = Window.partitionBy(*by).orderBy("_bucket").rowsBetween(Window.unboundedPreceding, -1)
    carried = largest.withColumn("_carried", F.max("_largest").over(earlier)).drop("_largest")
    last = Window.currentRow if is_own_included else -1
    within = Window.partitionBy(*by, "_bucket").orderBy(position).rowsBetween(Window.unboundedPreceding, last)
    own = bucketed.withColumn("_own", F.max("_value").over(within))
    joined = own.join(carried, [*by, "_bucket"])
    running = F.greatest(F.coalesce("_own", F.lit(-1)), F.coalesce("_carried", F.lit(-1)))
    return joined.withColumn("running", running).drop("_bucket", "_value", "_own", "_carried")
