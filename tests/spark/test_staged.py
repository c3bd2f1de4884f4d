"""Rows that the driver holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_few_rows_are_read_from_the_plan_and_not_by_python(spark: SparkSession) -> None:
    from spark_jobs.staged import few

    rows = few(spark, [(1, "a"), (None, "b")], "number long, text string")

    assert [tuple(row) for row in rows.collect()] == [(1, "a"), (None, "b")]
    assert rows.schema.simpleString() == "struct<number:bigint,text:string>"
    assert "LocalTableScan" in rows._jdf.queryExecution().executedPlan().toString()


def test_a_join_with_no_rows_is_left_out_of_the_plan(spark: SparkSession) -> None:
    from spark_jobs.staged import few

    told = few(spark, [(1,)], "number long").join(few(spark, [], "number long, text string"), "number", "left")

    assert [tuple(row) for row in told.collect()] == [(1, None)]
    assert "Join" not in told._jdf.queryExecution().executedPlan().toString()
