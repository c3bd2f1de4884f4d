"""The answers of takes, kept for their repetition.

Only the tickets and the time are kept: an answer may be given again only while all its leases live unchanged, and then
everything else still stands in the entries. So a kept answer holds no body in memory.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from cqs.cache.interface import Ticket

REPLAYS_MAX = 100_000
"""A shard keeps no more than this many answers; the oldest go first."""
_TRIM_BATCH = 2


class Replay(msgspec.Struct, frozen=True, gc=False):
    """What a take answered, and until when it may be asked for again."""

    tickets: tuple[Ticket, ...]
    received_ms: int
    until_ms: int


class Replays:
    """The kept answers of one shard, by request id."""

    __slots__ = ("_by_id", "_ids")

    def __init__(self) -> None:
        self._by_id: OrderedDict[str, Replay] = OrderedDict()
        self._ids: dict[int, str] = {}

    def find(self, request_id: str, now_ms: int) -> Replay | None:
        replay = self._by_id.get(request_id)
        return replay if replay is not None and now_ms < replay.until_ms else None

    def keep(self, request_id: str, replay: Replay, now_ms: int) -> None:
        """Keeps an answer under its request id, in place of an earlier one, and forgets some that are too old."""
        self.forget(request_id)
        self._trim(now_ms)
        self._by_id[request_id] = replay
        for ticket in replay.tickets:
            self._ids[ticket.receive_number] = request_id

    def void(self, receive_number: int) -> None:
        """The lease with this number was changed: the take that gave it is not repeated any more."""
        request_id = self._ids.get(receive_number)
        if request_id is not None:
            self.forget(request_id)

    def forget(self, request_id: str) -> None:
        replay = self._by_id.pop(request_id, None)
        if replay is not None:
            for ticket in replay.tickets:
                del self._ids[ticket.receive_number]

    def _trim(self, now_ms: int) -> None:
        for _ in range(_TRIM_BATCH):
            request_id = next(iter(self._by_id), None)
            if request_id is None:
                return
            if now_ms < self._by_id[request_id].until_ms and len(self._by_id) < REPLAYS_MAX:
                return
            self.forget(request_id)
