"""Compares the clocks of other servers with this machine's."""

from __future__ import annotations

from collections.abc import Iterator

from cqs.doctor.finding import Finding, error, warning

AHEAD_MS_MAX = 1_000
"""A larger difference is a warning."""
AHEAD_MS_WRONG = 10_000
"""A larger difference makes messages visible or expired at the wrong time."""


def clock_finding(part: str, ahead_ms: float) -> Iterator[Finding]:
    """A finding if the clock of `part` is off."""
    if abs(ahead_ms) <= AHEAD_MS_MAX:
        return
    side = "ahead of" if ahead_ms > 0 else "behind"
    say = error if abs(ahead_ms) >= AHEAD_MS_WRONG else warning
    yield say(
        part, f"its clock is {abs(ahead_ms) / 1_000:.1f} s {side} this machine's", "run chrony or ntpd on both machines"
    )
