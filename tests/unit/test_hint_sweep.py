"""The measurement of the consistency hint: the same seed gives the same figures, and they depend on the hint."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.hint_points import Cell, Point, beats_auto, cells
from benchmarks.hint_run import measure
from benchmarks.simulated import simulated


def run(hint: str, receivers: int, seed: int = 1) -> Point:
    with simulated() as runner:
        return runner.run(measure(hint, receivers, 100, seed))


def test_a_seed_gives_the_same_figures_each_time() -> None:
    assert run("auto", 8) == run("auto", 8)
    assert run("auto", 8) != run("auto", 8, seed=2)


def test_wide_hint_costs_order_and_saves_collisions() -> None:
    narrow, wide = run("1", 8), run("64", 8)

    assert narrow.displacement < wide.displacement
    assert narrow.collisions > wide.collisions
    assert narrow.duplicates > wide.duplicates


def test_lone_receiver_has_strict_order_under_auto() -> None:
    (cell,) = cells([run("auto", 1)])

    assert (cell.duplicates_percent, cell.displacement, cell.k_mean) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("duplicates", "displacement", "is_better"), [(0.5, 4.0, True), (0.5, 5.0, False), (1.0, 4.0, False)]
)
def test_only_what_is_better_in_both_beats_auto(duplicates: float, displacement: float, is_better: bool) -> None:
    auto, fixed = cell("auto", 1.0, 5.0), cell("16", duplicates, displacement)

    assert beats_auto([auto, fixed]) == [fixed] * is_better


def cell(hint: str, duplicates: float, displacement: float) -> Cell:
    return Cell(
        hint=hint,
        receivers=4,
        duplicates_percent=duplicates,
        collisions_percent=0.0,
        displacement=displacement,
        messages_per_s=1.0,
        k_mean=1.0,
    )


def test_loop_that_waits_for_nothing_says_so() -> None:
    with simulated() as runner, pytest.raises(RuntimeError, match="nothing will ever come"):
        runner.run(asyncio.Event().wait())
