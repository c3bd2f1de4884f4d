"""What a client of a replay observes: one row per call, whatever its outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

OBSERVATION = (
    "run string, client string, queue string, event string, outcome string, sender string, index long, "
    "is_intact boolean, message_id string, receive_count long, at_ms long, took_ms double"
)


@dataclass(frozen=True, slots=True)
class Observation:
    """One call as its client saw it. `outcome`: ok, failed (it had no effect), unknown (no response), dropped (none, on
    purpose), quit."""

    run: str
    client: str
    queue: str
    event: str
    outcome: str
    sender: str = ""
    index: int = -1
    is_intact: bool = True
    message_id: str = ""
    receive_count: int = 0
    at_ms: int = 0
    took_ms: float = 0.0


Observe = Callable[[Observation], None]
