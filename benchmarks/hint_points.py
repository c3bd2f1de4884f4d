"""The figures of the consistency hint's sweep, and which hints beat `auto`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec

AUTO = "auto"


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One queue emptied with one hint by a number of receivers."""

    hint: str
    receivers: int
    seed: int
    messages: int
    duplicates: int
    collisions: int
    """Takes that lost a message to another node."""
    takes: int
    displacement: float
    """Mean, in positions, without duplicates."""
    messages_per_s: float
    """Per second of simulated time."""
    k_mean: float


class Sweep(msgspec.Struct, frozen=True):
    """The results file."""

    command: str
    started: str
    nodes: int
    points: list[Point]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a hint and a number of receivers over all seeds."""

    hint: str
    receivers: int
    duplicates_percent: float
    collisions_percent: float
    """Percentage of takes."""
    displacement: float
    messages_per_s: float
    k_mean: float


def cells(points: Sequence[Point]) -> list[Cell]:
    """Returns the cells in the order of the points."""
    keys = dict.fromkeys((point.receivers, point.hint) for point in points)
    return [_cell([one for one in points if (one.receivers, one.hint) == key]) for key in keys]


def _cell(points: Sequence[Point]) -> Cell:
    return Cell(
        hint=points[0].hint,
        receivers=points[0].receivers,
        duplicates_percent=100 * sum(one.duplicates for one in points) / sum(one.messages for one in points),
        collisions_percent=100 * sum(one.collisions for one in points) / sum(one.takes for one in points),
        displacement=fmean(one.displacement for one in points),
        messages_per_s=fmean(one.messages_per_s for one in points),
        k_mean=fmean(one.k_mean for one in points),
    )


def beats_auto(measured: Sequence[Cell]) -> list[Cell]:
    """Returns fixed hints with fewer duplicates and less displacement than `auto` at the same number of receivers."""
    autos = {cell.receivers: cell for cell in measured if cell.hint == AUTO}
    return [
        cell
        for cell in measured
        if cell.hint != AUTO
        and cell.duplicates_percent < autos[cell.receivers].duplicates_percent
        and cell.displacement < autos[cell.receivers].displacement
    ]
