"""Figures of the consistency hint's sweep, and who beats whom in them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec

AUTO = "auto"


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One queue emptied under one hint by so many receivers."""

    hint: str
    receivers: int
    seed: int
    messages: int
    duplicates: int
    collisions: int
    """Takes that lost a message to another node."""
    takes: int
    displacement: float
    """Mean, in places, duplicates excluded."""
    messages_per_s: float
    """Of simulated time."""
    k_mean: float


class Sweep(msgspec.Struct, frozen=True):
    """The file of results."""

    command: str
    started: str
    nodes: int
    points: list[Point]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A hint and a number of receivers, over all seeds."""

    hint: str
    receivers: int
    duplicates_percent: float
    collisions_percent: float
    """Of takes."""
    displacement: float
    messages_per_s: float
    k_mean: float


def cells(points: Sequence[Point]) -> list[Cell]:
    """In the order of the points."""
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
    """Fixed hints with fewer duplicates and less displacement than `auto`, at the same number of receivers."""
    autos = {cell.receivers: cell for cell in measured if cell.hint == AUTO}
    return [
        cell
        for cell in measured
        if cell.hint != AUTO
        and cell.duplicates_percent < autos[cell.receivers].duplicates_percent
        and cell.displacement < autos[cell.receivers].displacement
    ]
