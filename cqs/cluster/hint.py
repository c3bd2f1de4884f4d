"""BDQS's consistency hint (section IV): a receive takes a random one of the K oldest messages.

K is a trade-off. With K = 1, uncoordinated receivers (Return-From-Cassandra) all try to take the same message: best
order, most collisions. A large K spreads them, at the cost of order. `auto`:

    a collision               K = SPREAD * rivals, unless it is more       in one step
    FALL_MS without one       K = K - 1                                    until K = 1

Rivals are the messages that other nodes may be taking at this moment. Without rivals a take is atomic: K = 1. With
rivals, the absence of collisions does not show whether they are active; the first collision is taken to mean that all
are. K stays nearly constant while they are, which is better than oscillating: the collision rate goes with 1/K, and the
mean of 1/K is lowest when K does not vary.

Nothing here waits; states are values.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

TAG = "cqs:consistency-hint"
AUTO = 0
"""The number that represents `auto`."""
K_MAX = 1_000
SPREAD = 4
"""Positions per rival. More would cost more order than they save collisions: see the sweep in docs/audit.md."""
FALL_MS = 50


@dataclass(frozen=True, slots=True)
class Spread:
    """The value that K reached through collisions, and when."""

    k: int = 1
    at_ms: int = 0


def parse(value: str) -> int | None:
    """K, AUTO, or None if the text is not a valid hint."""
    if value == "auto":
        return AUTO
    is_number = value.isascii() and value.isdigit() and not value.startswith("0") and len(value) <= len(str(K_MAX))
    return int(value) if is_number and int(value) <= K_MAX else None


def width(spread: Spread, rivals: int, now_ms: int) -> int:
    """K under `auto` for a take that begins now."""
    return _fallen(spread, now_ms) if rivals else 1


def collided(spread: Spread, rivals: int, now_ms: int) -> Spread:
    """The new state after a take with this many rivals lost a message to another node."""
    return Spread(min(max(_fallen(spread, now_ms), SPREAD * rivals), K_MAX), now_ms)


def _fallen(spread: Spread, now_ms: int) -> int:
    return max(1, spread.k - max(0, now_ms - spread.at_ms) // FALL_MS)


def pick(k: int, present: int, count_max: int, rng: random.Random) -> list[int]:
    """Which of `present` messages, oldest first, a take of up to `count_max` gets: each a random one of the K oldest of
    those left. In order."""
    left = list(range(min(present, k + count_max - 1)))
    return sorted(left.pop(rng.randrange(min(k, len(left)))) for _ in range(min(count_max, present)))
