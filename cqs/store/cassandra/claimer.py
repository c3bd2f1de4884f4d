"""Takes claims and sequences: requests that arrive for a queue while one conditional write runs go into the next.

call ─┐                    ┌─ applied: all of them are new
call ─┼─► one batch ───────┤
call ─┘  (all or none)     └─ refused: by another node's sequence, or by ids that are taken
                                 taken and confirmed ──► the answer is the first message's
                                 taken, window over  ──► taken over, next try
                                 taken and pending   ──► the call backs off, holding nothing
                                 pending for too long ─► fenced, taken over, next try

While a call must wait it holds none of its ids, so no two calls can wait for each other.

Nodes that send to one queue cause each other's writes to be refused, by the sequence. The node whose write was applied
knows the new sequence first and would win again and again. So after a refusal it backs off for as long as a write
takes, and a batch is given up after a time limit rather than a number of refusals:

    node A   write ──► applied · backs off · write …
    node B   write ──► refused: A's sequence ─ write ──► applied
"""

from __future__ import annotations

import asyncio

from cqs.clock import Clock
from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.store.cassandra import claim_rows
from cqs.store.cassandra.claim_plan import Call, Plan, Refused
from cqs.store.cassandra.claim_rows import Found, Id
from cqs.store.cassandra.session import Decision, Session
from cqs.store.cassandra.takeovers import PENDING_MS, Ruling, Takeovers
from cqs.store.interface import Claim

WISHES_MAX = 100
"""Maximum number of requests in one conditional batch, unless one call has more."""
ROUND_S_MAX = 5.0
"""How long a batch is tried. The rest of APPEND_MS_MAX, counted from the claim, is for the appends that must follow."""
UNKNOWN_MAX = 3
SEQUENCES_KEPT = 10_000


class Claimer:
    """Belongs to one event loop."""

    def __init__(self, session: Session, takeovers: Takeovers, clock: Clock) -> None:
        self._session = session
        self._takeovers = takeovers
        self._clock = clock
        self._lines: dict[tuple[int, int], list[Call]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._last: dict[int, int | None] = {}

    async def claim(self, call: Call) -> list[Claim] | Refused:
        """Raises StoreUnavailable; any claims it may have made expire."""
        loop = asyncio.get_running_loop()
        call.answer = loop.create_future()
        key = (call.queue.uid, call.queue.generation)
        line = self._lines.get(key)
        if line is None:
            self._lines[key] = [call]
            loop.call_soon(self._start, key)
        else:
            line.append(call)
        return await call.answer

    def _start(self, key: tuple[int, int]) -> None:
        task = asyncio.ensure_future(self._run(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, key: tuple[int, int]) -> None:
        line = self._lines[key]
        while line:
            batch = _next_batch(line)
            one = _Round(self._session, self._takeovers, self._clock, self._last, batch)
            try:
                await one.run()
            except Exception as error:  # Even a bug concerns only the calls that wait, not those that come later.
                for call in batch:
                    if not call.answer.done():
                        call.answer.set_exception(error)
            if one.stand_back_s:
                await asyncio.sleep(one.stand_back_s)
        del self._lines[key]
        while len(self._last) > SEQUENCES_KEPT:
            del self._last[next(iter(self._last))]


class _Round:
    """One batch of calls of one queue, until each has its answer."""

    def __init__(
        self,
        session: Session,
        takeovers: Takeovers,
        clock: Clock,
        last: dict[int, int | None],
        calls: list[Call],
    ) -> None:
        self._session = session
        self._takeovers = takeovers
        self._clock = clock
        self._last = last
        self._queue = calls[0].queue
        self._calls = calls
        self._taken: dict[Id, Found] = {}
        """Confirmed claims, or our own from an earlier attempt."""
        self._confirmed: set[int] = set()
        self._old: dict[Id, Found] = {}
        """Claims to be taken over."""
        self.stand_back_s = 0.0
        """How long to let other nodes go first."""

    async def run(self) -> None:
        now_s = asyncio.get_running_loop().time
        began_s, unknown, refused = now_s(), 0, 0
        while True:
            plan = self._plan()
            try:
                if not plan.writes:
                    is_applied, rows = Decision(True, [])
                else:
                    is_applied, rows = await self._session.decide(plan.writes)
            except OutcomeUnknown as error:
                unknown += 1
                if unknown == UNKNOWN_MAX:
                    raise StoreUnavailable(f"No sequence number could be allocated. {error}") from error
                await self._look(plan)
                continue
            if is_applied:
                self.stand_back_s = (now_s() - began_s) / (refused + 1) if refused else 0.0
                self._answer(plan)
                return
            refused += 1
            if now_s() - began_s >= ROUND_S_MAX:
                raise StoreUnavailable("Too many nodes send to this FIFO queue at once; nothing was written.")
            self._last[self._queue.uid] = claim_rows.last_sequence(rows, self._last.get(self._queue.uid))
            if not rows:
                self._last[self._queue.uid] = None
            if plan.takes and (self._old or any(row.get("dedup_id") is not None for row in rows)):
                await self._look(plan)  # An old claim may have been given up since it was seen.

    def _plan(self) -> Plan:
        now_ms = self._clock.now_ms()
        last = self._last.get(self._queue.uid)
        plan = Plan(self._queue, self._taken, self._confirmed, self._old, now_ms, last)
        for call in self._calls:
            if not call.answer.done():
                plan.add(call)
        if plan.sequence != (last or 0):
            plan.writes.insert(0, claim_rows.set_sequence(self._queue, last, plan.sequence))
        return plan

    def _answer(self, plan: Plan) -> None:
        if plan.writes:
            self._last[self._queue.uid] = plan.sequence
        for call in self._calls:
            if not call.answer.done():
                call.answer.set_result(plan.answers.get(id(call), Refused.BY_THIS_PROCESS))

    async def _look(self, plan: Plan) -> None:
        """Finds out what is in the way, and refuses the calls that have to wait for it."""
        found = await claim_rows.read(self._session, self._queue, list(plan.takes))
        confirmed, notices = await self._takeovers.seen(self._queue, [one.address for one in found.values()])
        self._confirmed |= confirmed - notices.keys()
        now_ms = self._clock.now_ms()
        self._old = {}
        waited_for: set[Id] = set()
        for key, one in found.items():
            wish = plan.takes[key].wish
            if one.expires_ms <= now_ms:
                self._old[key] = one
            elif one.address in self._confirmed or one.address == wish.address:
                self._taken[key] = one
            elif one.address not in notices and now_ms - one.claimed_ms < PENDING_MS:
                waited_for.add(key)
            else:
                ruling = await self._takeovers.rule(self._queue, one.address, wish.address)
                if ruling is Ruling.FENCED:
                    self._old[key] = one
                elif ruling is Ruling.UNDECIDED:
                    waited_for.add(key)
                else:
                    self._confirmed.add(one.address)
                    self._taken[key] = one
        for call in self._calls:
            if not call.answer.done() and not waited_for.isdisjoint((w.scope, w.dedup_id) for w in call.wanted):
                call.answer.set_result(Refused.BY_ANOTHER_NODE)


def _next_batch(line: list[Call]) -> list[Call]:
    count = taken = 0
    for call in line:
        count += len(call.wanted)
        if taken and count > WISHES_MAX:
            break
        taken += 1
    batch = line[:taken]
    del line[:taken]
    return batch
