"""Answers of takes, kept for replay.

Only the tickets and the time are kept: an answer may be replayed only while all its leases are unchanged, and then
everything else is still in the entries. So a kept answer holds no body in memory. Empty answers are not kept: a
receiver that got nothing looks again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from cqs.cache.interface import Received, TakeRequest, Ticket
from cqs.cache.ledger import Ledger, received_of

REPLAYS_MAX = 100_000
"""Maximum number of answers a shard keeps; the oldest are dropped first."""
_TRIM_BATCH = 2


class _Replay(msgspec.Struct, frozen=True, gc=False):
    tickets: tuple[Ticket, ...]
    received_ms: int
    until_ms: int


class Replays:
    """The kept answers of one shard, by request id."""

    __slots__ = ("_by_id", "_ids", "_ledger")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._by_id: OrderedDict[str, _Replay] = OrderedDict()
        self._ids: dict[int, str] = {}

    def repeat(self, request: TakeRequest, now_ms: int) -> list[Received]:
        """The answer again, with its leases restarted from now; [] when there is none or it is void."""
        replay = self._by_id.get(request.request_id)
        if replay is None or now_ms >= replay.until_ms:
            return []
        leased = [self._ledger.living(ticket, now_ms) for ticket in replay.tickets]
        living = [entry for entry in leased if entry is not None]
        if len(living) < len(leased):
            self._forget(request.request_id)
            return []
        for entry in living:
            self._ledger.hide(entry, now_ms + request.visibility_ms)
        return [received_of(entry, replay.received_ms) for entry in living]

    def keep(self, request: TakeRequest, received: Sequence[Received], now_ms: int) -> None:
        """Keeps the answer under its request id, replacing an earlier one, and drops some that are too old."""
        self._forget(request.request_id)
        self._trim(now_ms)
        tickets = tuple(one.ticket for one in received)
        self._by_id[request.request_id] = _Replay(tickets, now_ms, now_ms + request.replay_ms)
        for ticket in tickets:
            self._ids[ticket.receive_number] = request.request_id

    def void(self, receive_number: int) -> None:
        """The lease with this number was changed: the take that issued it can't be replayed any more."""
        request_id = self._ids.get(receive_number)
        if request_id is not None:
            self._forget(request_id)

    def _forget(self, request_id: str) -> None:
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
            self._forget(request_id)
