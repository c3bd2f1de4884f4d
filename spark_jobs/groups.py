"""Figures per group: per queue, per tenant, per run, each one row per group with the same columns."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.findings import Kind
from spark_jobs.latency import is_received, latency_columns, named_cuts
from spark_jobs.tables import QUEUE

GROUPS = {"queues": QUEUE, "tenants": ["account", "tenant"], "runs": ["run"]}


COUNTS = ("acknowledged", "received", "deleted", "ended_otherwise", "duplicates", "held", "holes")


def column_of(kind: Kind) -> str:
    return kind.value.replace(" ", "_")


def fate_columns() -> list[Column]:
    """Aggregates over lives: what became of the messages."""
    known = F.col("is_known")
    other = known & ~F.col("fate").isin("", "deleted")
    return [
        F.count_if(known).alias("acknowledged"),
        F.count_if(is_received()).alias("received"),
        F.count_if(known & (F.col("fate") == "deleted")).alias("deleted"),
        F.count_if(other).alias("ended_otherwise"),
        F.coalesce(F.sum(F.when(F.col("deliveries") > 1, F.col("deliveries") - 1)), F.lit(0)).alias("duplicates"),
        F.count_if((F.col("deliveries") > 0) & (F.col("fate") == "")).alias("held"),
        F.count_if(~known | (F.col("fate") == "")).alias("holes"),
    ]


def findings_by(findings: DataFrame, by: Sequence[str]) -> DataFrame:
    """Findings of each group, one column per kind."""
    columns = [
        F.coalesce(F.sum(F.when(F.col("kind") == kind.value, F.col("amount"))), F.lit(0)).alias(column_of(kind))
        for kind in Kind
        if kind is not Kind.DUPLICATE
    ]
    return findings.groupBy(*by).agg(*columns)


def group_figures(
    lives: DataFrame,
    found: DataFrame,
    by: Sequence[str],
    *,
    order: DataFrame,
    called: DataFrame | None,
    lost_kinds: Sequence[Kind],
) -> DataFrame:
    """Everything that is known about each group. `order` is by `uid` for queues, and by the group for others; `called`,
    the receives by `uid`, is for queues only. `lost_kinds`: findings of lost messages, some of which both receivers and
    the store report; if empty, `loss_rate` is null."""
    summed = named_cuts(lives.groupBy(*by).agg(*fate_columns(), *latency_columns()))
    figures = summed.join(findings_by(found, by), list(by), "left")
    figures = figures.join(_gone_by(found, by, lost_kinds), list(by), "left")
    figures = figures.join(order, [name for name in order.columns if name in by], "left")
    if called is not None:
        figures = figures.join(called, "uid", "left")
    ordered = [*by, *(name for name in figures.columns if name not in by)]
    rated = figures.select(*ordered).fillna(0).withColumn("duplicate_rate", _rate(F.col("duplicates")))
    loss_rate = _rate(F.col("gone")) if lost_kinds else F.lit(None).cast("double")
    return rated.withColumn("loss_rate", loss_rate).drop("gone")


def gone_of(found: DataFrame, lost_kinds: Sequence[Kind]) -> DataFrame:
    """The findings of lost messages: of these kinds, or with a body different from the one sent."""
    return found.where(F.col("kind").isin([kind.value for kind in (*lost_kinds, Kind.CORRUPTED)]))


def _gone_by(found: DataFrame, by: Sequence[str], lost_kinds: Sequence[Kind]) -> DataFrame:
    """`gone`: how many messages are lost; a message lost in two ways counts once."""
    return gone_of(found, lost_kinds).groupBy(*by).agg(F.count_distinct("address").alias("gone"))


def _rate(count: Column) -> Column:
    """As a share of the acknowledged messages."""
    return F.coalesce(F.when(F.col("acknowledged") > 0, count / F.col("acknowledged")), F.lit(0.0))
