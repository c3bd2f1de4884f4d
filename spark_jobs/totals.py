"""The figures of all queues that a verdict is based on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.findings import Kind


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all queues."""

    acknowledged: int = 0
    """Messages sent or moved in; M in the formulas."""
    received: int = 0
    deleted: int = 0
    ended_otherwise: int = 0
    """Moved on, expired, purged, or deleted with their queue."""
    duplicates: int = 0
    held: int = 0
    """Received, and not ended."""
    holes: int = 0
    """Messages whose beginning or end is not in the journal."""
    out_of_order: float = 0.0
    displacement: float = 0.0
    found: Mapping[str, int] | None = None
    """Findings by kind."""
    lost_twice: int = 0
    """How often a lost message is counted again for another reason: not received, missing from the store, corrupted."""
    lost_older: int = 0
    """How many of the lost messages were not acknowledged in the window: sent before it, or by an unrecorded send."""
    too_old: int = 0
    """Messages in the window or in the store that were sent before what was read of the journal."""
    skew_ms: int = 0
    """A lower bound of the clock difference, if it exceeds what was allowed for."""
    signs: Mapping[str, int] | None = None
    """Signs that a journal is missing (`spark_jobs.absence`); None = all journals were given, or there is nothing to
    explain."""

    def of(self, kind: Kind) -> int:
        return (self.found or {}).get(kind.value, 0)

    @property
    def duplicate_rate(self) -> float:
        """λ."""
        return self.duplicates / self.acknowledged if self.acknowledged else 0.0
