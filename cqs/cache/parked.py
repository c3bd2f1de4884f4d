"""The tenants of one standard shard: their load, and parked lines for messages that were passed over.

Only a shard that has seen a message group has this. A tenant's load is forgotten once it has no message ready or in
flight and its recent processing time is trivial, so a million groups of one message each leave nothing behind.
"""

from __future__ import annotations

from collections import deque

from cqs.cache.entry import Entry, State
from cqs.cache.tenants import NOISY_BUSY_MS_MIN, BusyMeter, is_noisy

_PRUNE_SLACK = 1_000
_READY = State.READY


class Tenant:
    """Load and parked line of one message group (tenant)."""

    __slots__ = ("backlog", "last_send_ms", "line", "meter", "name")

    def __init__(self, name: str, now_ms: int) -> None:
        self.name = name
        self.backlog = 0
        self.last_send_ms = 0
        self.meter = BusyMeter(0, now_ms)
        self.line: deque[Entry] | None = None

    def head(self) -> Entry | None:
        """The first message of the parked line."""
        line = self.line
        while line and line[0].state is not _READY:
            line.popleft()
        return line[0] if line else None


class Tenants:
    """All tenants of a shard. A message without a group counts only towards the totals."""

    __slots__ = ("_backlogged", "_by_name", "_now_ms", "_parked", "_prune_at", "_seen_noisy", "_total", "_ungrouped")

    def __init__(self, ungrouped_ready: int, in_flight: int, now_ms: int) -> None:
        self._by_name: dict[str, Tenant] = {}
        self._parked: dict[str, Tenant] = {}
        self._seen_noisy: dict[str, Tenant] = {}
        self._total = BusyMeter(in_flight, now_ms)
        self._ungrouped = ungrouped_ready
        self._backlogged = 0
        self._prune_at = _PRUNE_SLACK
        self._now_ms = now_ms

    def arrived(self, entry: Entry) -> None:
        """The message has become ready."""
        if entry.group is None:
            self._ungrouped += 1
            return
        tenant = self._tenant(entry.group)
        tenant.last_send_ms = max(tenant.last_send_ms, entry.sent_ms)
        self._backlogged += tenant.backlog == 0
        tenant.backlog += 1

    def departed(self, entry: Entry) -> None:
        """The message is about to be in flight."""
        if entry.group is None:
            self._ungrouped -= 1
            return
        tenant = self._tenant(entry.group)
        tenant.backlog -= 1
        self._backlogged -= tenant.backlog == 0

    def left(self, entry: Entry, now_ms: int) -> None:
        """The message is no longer ready, and was not handed out."""
        self._now_ms = now_ms
        self.departed(entry)
        if entry.group is not None:
            self._forget_idle(self._tenant(entry.group))

    def returned(self, entry: Entry) -> bool:
        """`arrived` for a message that returned. True: it is now at the front of its tenant's parked line."""
        self.arrived(entry)
        tenant = self._parked.get(entry.group) if entry.group is not None else None
        if tenant is None or not tenant.line:
            return False
        tenant.line.appendleft(entry)
        return True

    def started(self, entry: Entry, now_ms: int) -> None:
        self._now_ms = now_ms
        self._total.change(1, now_ms)
        if entry.group is not None:
            tenant = self._tenant(entry.group)
            tenant.meter.change(1, now_ms)
            self._is_noisy(tenant, now_ms)

    def finished(self, entry: Entry, now_ms: int) -> None:
        self._now_ms = now_ms
        self._total.change(-1, now_ms)
        if entry.group is not None:
            tenant = self._tenant(entry.group)
            tenant.meter.change(-1, now_ms)
            self._forget_idle(tenant)

    def pop_quiet(self, now_ms: int) -> Entry | None:
        """Pops the oldest head among the parked lines of tenants that are quiet now."""
        best: Entry | None = None
        for tenant in list(self._parked.values()):
            head = tenant.head()
            if head is None:
                del self._parked[tenant.name]
                tenant.line = None
            elif (best is None or head.address < best.address) and not self._is_passed(tenant, now_ms):
                best = head
        return None if best is None else self._pop(best)

    def park_if_noisy(self, entry: Entry, now_ms: int) -> bool:
        """True: the tenant is noisy, and the message is now at the end of its parked line."""
        if entry.group is None:
            return False
        tenant = self._tenant(entry.group)
        if not self._is_passed(tenant, now_ms):
            return False
        if tenant.line is None:
            tenant.line = deque()
            self._parked[tenant.name] = tenant
        tenant.line.append(entry)
        return True

    def pop_noisy(self) -> Entry | None:
        """Pops the head of the parked line whose tenant has the fewest messages in flight."""
        best: tuple[int, int] | None = None
        chosen: Entry | None = None
        for tenant in self._parked.values():
            head = tenant.head()
            if head is not None and (best is None or (tenant.meter.in_flight, head.address) < best):
                best, chosen = (tenant.meter.in_flight, head.address), head
        return None if chosen is None else self._pop(chosen)

    def oldest_parked(self) -> Entry | None:
        heads = [head for tenant in self._parked.values() if (head := tenant.head()) is not None]
        return min(heads, key=lambda head: head.sent_ms, default=None)

    def noisy_count(self, now_ms: int) -> int:
        return sum(self._is_noisy(tenant, now_ms) for tenant in list(self._seen_noisy.values()))

    def sweep(self) -> None:
        """Removes messages that are no longer ready from the parked lines."""
        for tenant in self._parked.values():
            tenant.line = deque(entry for entry in tenant.line or () if entry.state is _READY)

    def _tenant(self, name: str) -> Tenant:
        tenant = self._by_name.get(name)
        if tenant is None:
            if len(self._by_name) >= self._prune_at:
                self._prune()
            tenant = self._by_name[name] = Tenant(name, self._now_ms)
        return tenant

    def _pop(self, head: Entry) -> Entry:
        assert head.group is not None
        line = self._parked[head.group].line
        assert line is not None
        return line.popleft()

    def _is_passed(self, tenant: Tenant, now_ms: int) -> bool:
        is_alone = self._ungrouped == 0 and self._backlogged <= 1
        return not is_alone and self._is_noisy(tenant, now_ms)

    def _is_noisy(self, tenant: Tenant, now_ms: int) -> bool:
        verdict = is_noisy(
            tenant.meter, self._total, backlog=tenant.backlog, last_send_ms=tenant.last_send_ms, now_ms=now_ms
        )
        if verdict:
            self._seen_noisy[tenant.name] = tenant
        else:
            self._seen_noisy.pop(tenant.name, None)
        return verdict

    def _forget_idle(self, tenant: Tenant) -> None:
        if self._is_forgettable(tenant):
            del self._by_name[tenant.name]
            self._seen_noisy.pop(tenant.name, None)

    def _is_forgettable(self, tenant: Tenant) -> bool:
        return (
            tenant.backlog == 0
            and tenant.meter.in_flight == 0
            and not tenant.line
            and tenant.meter.busy_ms(self._now_ms) <= NOISY_BUSY_MS_MIN
        )

    def _prune(self) -> None:
        self._by_name = {name: tenant for name, tenant in self._by_name.items() if not self._is_forgettable(tenant)}
        self._prune_at = 2 * len(self._by_name) + _PRUNE_SLACK
