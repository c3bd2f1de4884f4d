"""Out-of-order rate and displacement, compared with the paper's examples and an oracle; many orders in one job."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spark.oracle import order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("in_parts")
PAPER = {"2,1,3,4,5": (0.2, 0.4), "2,3,4,5,1": (0.2, 1.6)}


def permutations(rng: random.Random) -> Iterator[list[int]]:
    """Returns orders of all kinds: right, all wrong, partly wrong, reversed, and one message last."""
    yield [0]
    for size in (2, 3, 10, 97, 300):
        right = list(range(size))
        yield right
        yield right[::-1]
        yield right[1:] + right[:1]
        yield rng.sample(right, size)
        near = right.copy()
        for _ in range(max(1, size // 10)):
            place = rng.randrange(size)
            other = min(size - 1, place + rng.randrange(9))
            near[place], near[other] = near[other], near[place]
        yield near
        yield sorted(right, key=lambda value: value // 7 * 7 + rng.random() * 7)


@pytest.mark.parametrize("bucket_rows", [7, 100_000])
def test_order_is_that_of_the_paper_and_of_the_oracle(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket_rows: int
) -> None:
    from spark_jobs import positions
    from spark_jobs.order import order_of, places_of

    monkeypatch.setattr(positions, "BUCKET_ROWS", bucket_rows)
    rng = random.Random(7)
    orders = {name: [int(word) for word in name.split(",")] for name in PAPER}
    orders |= {f"order {number}": values for number, values in enumerate(permutations(rng))}
    rows = [
        (name, 1_000 + value, 50 + 3 * place) for name, values in orders.items() for place, value in enumerate(values)
    ]
    rng.shuffle(rows)
    messages = spark.createDataFrame(rows, "queue string, sent_at long, taken long")

    places = places_of(messages, ["queue"], ["sent_at"], ["taken"], str(tmp_path))
    found = order_of(places, ["queue"], str(tmp_path)).collect()

    measured = {row["queue"]: (row["out_of_order"], row["displacement"]) for row in found}
    assert measured.keys() == orders.keys()
    for name, values in orders.items():
        assert measured[name] == pytest.approx(order(values)), name
    for name, expected in PAPER.items():
        assert measured[name] == pytest.approx(expected)


def test_no_messages_have_no_order(spark: SparkSession, tmp_path: Path) -> None:
    from spark_jobs.order import order_of, places_of

    messages = spark.createDataFrame([], "queue string, sent_at long, taken long")

    places = places_of(messages, ["queue"], ["sent_at"], ["taken"], str(tmp_path))

    assert order_of(places, ["queue"], str(tmp_path)).collect() == []


@given(st.permutations(range(40)))
@settings(max_examples=300, deadline=None)
def test_parts_between_cuts_add_up(values: list[int]) -> None:
    from spark_jobs.order import Piles

    total, piles, largest = 0, Piles(), -1
    for place, value in enumerate(values):
        piles.add([value])
        largest = max(largest, value)
        if largest == place:
            total, piles = total + len(piles), Piles()

    assert (len(values) - total) / len(values) == order(values)[0]
