"""The order metrics of receives, computed in parts: exact as long as no message waits longer than two delays."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.oracle import order

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNT = 40
STEP_MS = 1_000
SCHEMA = (
    "account string, queue string, uid long, sequence long, address string, is_known boolean, deliveries long, "
    "fate string, first_place long, first_received_ms long"
)


def orders() -> dict[str, list[int]]:
    """By name: send positions in the order of receives."""
    rng, right = random.Random(5), list(range(COUNT))
    return {
        "right": right,
        "near": sorted(right, key=lambda place: place // 4 * 4 + rng.random() * 4),
        "random": rng.sample(right, COUNT),
        "reversed": right[::-1],
        "first is last": [*right[1:], 0],
    }


def lives_at(spark: SparkSession, until_ms: int) -> DataFrame:
    rows = []
    for uid, (name, received) in enumerate(orders().items()):
        for place, sent in enumerate(received):
            at_ms = (place + 1) * STEP_MS
            told = (1, "deleted", 10 + place, at_ms) if at_ms <= until_ms else (0, "", None, None)
            rows.append(("a", name, uid, 0, f"{sent:04}", True, *told))
    return spark.createDataFrame(rows, SCHEMA)


def streamed(spark: SparkSession, folder: Path, delay_ms: int) -> tuple[dict[str, dict[str, int]], list[int]]:
    """Returns counts by queue, and how many messages were pending after each batch."""
    from spark_jobs.staged import kept
    from spark_jobs.stream_order import FLOORS, PENDING, Marks, part_of

    pending, floors = spark.createDataFrame([], PENDING), spark.createDataFrame([], FLOORS)
    sums: dict[str, dict[str, int]] = {name: {} for name in orders()}
    before_ms, held = 0, []
    for number, settled_ms in enumerate((12_000, 24_000, 36_000, 100_000)):
        marks = Marks(before_ms, settled_ms, delay_ms)
        part = part_of(pending, floors, lives_at(spark, settled_ms + 5_000), marks, f"{folder}/{number}-stage")
        is_last = settled_ms == 100_000
        for row in (part.totals if is_last else part.totals.where("is_closed")).collect():
            for name in ("placed", "in_order", "displaced", "overtaken"):
                sums[row["queue"]][name] = sums[row["queue"]].get(name, 0) + (row[name] or 0)
        pending, floors = kept(part.pending, f"{folder}/{number}-p"), kept(part.floors, f"{folder}/{number}-f")
        held.append(pending.count())
        before_ms = settled_ms
    return sums, held


def test_parts_add_up_to_the_whole(spark: SparkSession, tmp_path: Path) -> None:
    sums, held = streamed(spark, tmp_path, delay_ms=1_000_000)

    for name, received in orders().items():
        told = sums[name]
        assert (told["placed"], told["overtaken"]) == (COUNT, 0)
        rates = (COUNT - told["in_order"]) / COUNT, told["displaced"] / COUNT
        assert rates == pytest.approx(order(received)), name
    assert held[-1] == 0


def test_order_that_never_falls_apart_is_counted_in_pieces(spark: SparkSession, tmp_path: Path) -> None:
    sums, held = streamed(spark, tmp_path, delay_ms=4_000)

    for name, received in orders().items():
        told = sums[name]
        assert told["placed"] == COUNT, name
        assert COUNT - told["in_order"] >= round(order(received)[0] * COUNT), name
        assert (told["overtaken"] > 0) == (name in ("random", "reversed", "first is last")), name
    assert (sums["first is last"]["overtaken"], sums["first is last"]["in_order"]) == (1, COUNT - 1)
    assert max(held) <= len(orders()) * (2 * 4_000 + 12_000) // STEP_MS
