"""Figures by group: by queue, by tenant, by run, each one row a group with the same columns."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.empties import empties
from spark_jobs.findings import Kind
from spark_jobs.latency import latencies
from spark_jobs.tables import QUEUE

GROUPS = {"queues": QUEUE, "tenants": ["account", "tenant"], "runs": ["run"]}


def column_of(kind: Kind) -> str:
    return kind.value.replace(" ", "_")


def summary(lives: DataFrame, by: Sequence[str]) -> DataFrame:
    """What became of the messages of each group."""
    known = F.col("is_known")
    other = known & ~F.col("fate").isin("", "deleted")
    return lives.groupBy(*by).agg(
        F.count_if(known).alias("acknowledged"),
        F.count_if(known & (F.col("deliveries") > 0)).alias("received"),
        F.count_if(F.col("fate") == "deleted").alias("deleted"),
        F.count_if(other).alias("ended_otherwise"),
        F.coalesce(F.sum(F.when(F.col("deliveries") > 1, F.col("deliveries") - 1)), F.lit(0)).alias("duplicates"),
        F.count_if(~known | (F.col("fate") == "")).alias("holes"),
    )


def counted(findings: DataFrame, by: Sequence[str]) -> DataFrame:
    """Findings of each group, one column a kind."""
    columns = [
        F.coalesce(F.sum(F.when(F.col("kind") == kind.value, F.col("amount"))), F.lit(0)).alias(column_of(kind))
        for kind in Kind
        if kind is not Kind.DUPLICATE
    ]
    return findings.groupBy(*by).agg(*columns)


def group_figures(
    lives: DataFrame, found: DataFrame, by: Sequence[str], *, events: DataFrame, order: DataFrame | None
) -> DataFrame:
    """Everything that is known of each group; order and empty receives only by queue."""
    figures = summary(lives, by).join(counted(found, by), list(by), "left")
    figures = figures.join(latencies(lives, by).drop("messages"), list(by), "left")
    if order is not None:
        figures = figures.join(order, "uid", "left").join(empties(events, ["uid"]), "uid", "left")
    rate = F.col("duplicates") / F.col("acknowledged")
    ordered = [*by, *(name for name in figures.columns if name not in by)]
    return figures.select(*ordered).withColumn("duplicate_rate", _or_zero(rate)).fillna(0)


def _or_zero(column: Column) -> Column:
    return F.coalesce(F.when(F.col("acknowledged") > 0, column), F.lit(0.0))
