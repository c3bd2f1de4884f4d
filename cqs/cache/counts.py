"""How many messages of a shard are in each state."""

from __future__ import annotations

import msgspec


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Approximate numbers of one shard, for attributes and metrics."""

    ready: int = 0
    in_flight: int = 0
    delayed: int = 0
    oldest_ms: int | None = None
    """Sent time of the oldest ready message; None when there is none. As in SQS, messages received RECEIVES_BEFORE_BACK
    times or more do not count, nor do in-flight and delayed ones."""
    groups_in_flight: int = 0
    noisy_groups: int = 0
