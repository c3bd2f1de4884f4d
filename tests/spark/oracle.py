"""The order metrics in ten lines, for comparison."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def order(received: Sequence[int]) -> tuple[float, float]:
    """Returns out-of-order rate and average displacement of distinct values whose correct order is ascending."""
    tops: list[int] = []
    for value in received:
        place = bisect_left(tops, value)
        tops[place : place + 1] = [value]
    correct = {value: place for place, value in enumerate(sorted(received))}
    displacement = sum(abs(place - correct[value]) for place, value in enumerate(received))
    return (len(received) - len(tops)) / len(received), displacement / len(received)
