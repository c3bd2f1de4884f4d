"""Sends requests through the driver from the event loop, and hands its answers to those who wait for them.

Reads and plain writes are idempotent by their stamps: they are also sent to a second node when the first one is slow,
and retried once when an attempt ends without an answer. Each attempt gets `request_ms`, so a pause of all nodes for as
long as that only delays calls. While half of the nodes or more are down, waiting is of little use: both attempts
together get `request_ms`, less what a write has waited for others to its partition. Conditional writes are sent once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, NamedTuple

from cassandra import OperationTimedOut, ReadTimeout, WriteTimeout
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.query import BatchStatement, BatchType

from cqs.errors import CqsError, OutcomeUnknown, StoreUnavailable
from cqs.store.cassandra import statements
from cqs.store.cassandra.cluster import CATALOGUE, DECIDE, MESSAGES, PLAIN, WAITING_MAX
from cqs.store.cassandra.failures import told
from cqs.store.cassandra.link import Link
from cqs.store.cassandra.options import Options
from cqs.store.cassandra.reactor import settle
from cqs.store.cassandra.silence import PROBE_S_MAX, Silence
from cqs.store.cassandra.statements import Kind, Statement
from cqs.store.group_commit import CLOSED

Row = tuple[Any, ...]
Named = dict[str, Any]

PREPARE_AT_ONCE = 8
PAGE_ROWS = 1_000
RETRY_S_MIN = 0.1
_UNANSWERED = (OperationTimedOut, WriteTimeout, ReadTimeout, NoHostAvailable, ConnectionException)


def whole(rows: Iterable[Row]) -> list[Row]:
    """The rows without missing cells. A row's cells end one by one (by TTL, by writes with equal stamps and unequal
    TTLs, or were never all there: an UPDATE after a DELETE), and its key may outlive them: such a row is gone."""
    return [row for row in rows if None not in row]


class Write(NamedTuple):
    """A statement and its values."""

    statement: Statement
    values: Sequence[object]


class Decision(NamedTuple):
    """The result of a conditional write. `found`: the rows that conflicted, by column."""

    is_applied: bool
    found: list[Named]


class _Answer(NamedTuple):
    rows: list[Any]
    paging_state: bytes | None


class Session(Link):
    """A link with prepared requests. Calls raise StoreUnavailable, and writes also OutcomeUnknown."""

    def __init__(self, options: Options, now_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__(options)
        self._now_s = now_s
        self._request_s = options.request_ms / 1_000
        self._silence = Silence(options.place, self._probe, now_s)
        self._probes = count()
        self._prepared: dict[Statement, Any] = {}
        self._waiting: set[asyncio.Future[list[Any]]] = set()

    async def prepare(self) -> None:
        """Prepares all statements. Raises StoreUnavailable."""
        session = self._opened()
        texts = [statements.qualified(statement.cql, self._options.keyspace) for statement in statements.ALL]

        def prepare_all() -> dict[Statement, Any]:
            with ThreadPoolExecutor(PREPARE_AT_ONCE) as pool:
                prepared = list(pool.map(session.prepare, texts))
            for statement, one in zip(statements.ALL, prepared, strict=True):
                one.is_idempotent = statement.kind is not Kind.DECIDE
            return dict(zip(statements.ALL, prepared, strict=True))

        try:
            self._prepared = await asyncio.to_thread(prepare_all)
        except Exception as error:
            raise told(error, Kind.READ, self._place) from error

    async def close(self) -> None:
        """Callers that wait get StoreUnavailable. Idempotent."""
        await self._silence.close()
        await super().close()
        for waiter in list(self._waiting):
            settle(waiter, StoreUnavailable(CLOSED))

    async def read(self, statement: Statement, values: Sequence[object], profile: str = PLAIN) -> list[Row]:
        """All rows of a query that limits their number itself, or that returns few."""
        self._admitted([Write(statement, values)])
        counts = statement is not statements.READ_NOW and profile == PLAIN
        return (await self._call(Kind.READ, lambda: self._bound(statement, values), profile, is_of_quorum=counts)).rows

    async def pages(self, statement: Statement, values: Sequence[object] = ()) -> AsyncIterator[list[Row]]:
        """The rows of an unbounded query, PAGE_ROWS at a time."""
        paging_state: bytes | None = None

        def make() -> Any:
            bound = self._bound(statement, values)
            bound.fetch_size = PAGE_ROWS
            return bound

        while True:
            self._admitted([Write(statement, values)])
            answer = await self._call(Kind.READ, make, paging_state=paging_state, tries=1)
            yield answer.rows
            if (paging_state := answer.paging_state) is None:
                return

    async def all(self, statement: Statement, values: Sequence[object] = ()) -> list[Row]:
        """All pages of a query."""
        return [row async for page in self.pages(statement, values) for row in page]

    async def write(self, writes: Sequence[Write], since_s: float | None = None) -> None:
        """Durable when it returns. Several: an unlogged batch for one partition key, hence atomic. `since_s`: when the
        first caller began to wait, by this session's clock; now if None."""
        profile = PLAIN if statements.MESSAGES.isdisjoint(self._admitted(writes)) else MESSAGES
        await self._call(Kind.WRITE, lambda: self._joined(writes, is_idempotent=True), profile, since_s=since_s)

    @property
    def may_decide_alone(self) -> bool:
        """Whether this data centre may decide about the catalogue while too few replicas are alive elsewhere."""
        return not self._options.is_each

    async def decide(self, writes: Sequence[Write], *, is_here: bool = False) -> Decision:
        """A conditional write, or several in one partition that are applied all or none. On OutcomeUnknown, retry.
        `is_here`: this data centre decides alone, also about the catalogue; only where it `may_decide_alone`."""
        profile = DECIDE if statements.CATALOGUE.isdisjoint(self._admitted(writes)) or is_here else CATALOGUE
        answer = await self._call(Kind.DECIDE, lambda: self._joined(writes, is_idempotent=False), profile, tries=1)
        found = [row for row in answer.rows if len(row) > 1]
        return Decision(True, []) if answer.rows[0]["[applied]"] else Decision(False, found)

    def _admitted(self, asked: Sequence[Write]) -> list[Statement]:
        """Their statements. Raises StoreUnavailable while Cassandra is silent, and when too many requests are
        outstanding, except for vital ones."""
        found = [one.statement for one in asked]
        if statements.EVEN_IN_SILENCE.isdisjoint(found):
            self._silence.check()
        if len(self._waiting) >= WAITING_MAX and statements.VITAL.isdisjoint(found):
            raise StoreUnavailable(f"Cassandra at {self._place} is behind: {WAITING_MAX} requests wait for an answer.")
        return found

    def _bound(self, statement: Statement, values: Sequence[object]) -> Any:
        self._opened()
        return self._prepared[statement].bind(values)

    def _joined(self, writes: Sequence[Write], *, is_idempotent: bool) -> Any:
        if len(writes) == 1:
            return self._bound(*writes[0])
        self._opened()
        batch = BatchStatement(BatchType.UNLOGGED)
        batch.is_idempotent = is_idempotent
        for statement, values in writes:
            batch.add(self._prepared[statement], values)
        return batch

    async def _call(
        self,
        kind: Kind,
        make: Callable[[], Any],
        profile: str = PLAIN,
        paging_state: bytes | None = None,
        *,
        tries: int = 2,
        is_of_quorum: bool = True,
        since_s: float | None = None,
    ) -> _Answer:
        """At most so many attempts, each as long as `_left_s` tells before it."""
        began_s, was_sent = self._now_s(), False
        left_s = max(RETRY_S_MIN, self._left_s(began_s, since_s))
        for tries_left in reversed(range(tries)):
            try:
                answer = await self._once(make(), kind, profile, left_s, paging_state, was_sent=was_sent)
            except CqsError as error:
                if not isinstance(error.__cause__, _UNANSWERED):
                    raise
                left_s = self._left_s(began_s, since_s)
                if not tries_left or left_s < RETRY_S_MIN:
                    self._silence.unanswered(began_s, self._request_s * (0.5 if self.is_half_down else 1.5))
                    raise
                was_sent = isinstance(error, OutcomeUnknown)
                continue
            if is_of_quorum:
                self._silence.answered()
            return answer
        raise AssertionError

    def _left_s(self, began_s: float, since_s: float | None) -> float:
        until_s = (since_s or began_s) + self._request_s if self.is_half_down else began_s + 2 * self._request_s
        return min(self._request_s, until_s - self._now_s())

    async def _probe(self) -> None:
        """Another partition each time: for some of them there may be a quorum."""
        values = ("probe", str(next(self._probes)))
        await self._once(self._bound(statements.PROBE, values), Kind.READ, PLAIN, PROBE_S_MAX)
        self._silence.answered()

    async def _once(
        self,
        query: Any,
        kind: Kind,
        profile: str,
        timeout_s: float,
        paging_state: bytes | None = None,
        *,
        was_sent: bool = False,
    ) -> _Answer:
        waiter: asyncio.Future[list[Any]] = self._loop.create_future()
        self._waiting.add(waiter)
        response: Any = None
        try:
            response = self._opened().execute_async(
                query, timeout=timeout_s, execution_profile=profile, paging_state=paging_state
            )
            response.add_callbacks(self._done, self._tell, (waiter,), None, (waiter,))
            return _Answer(await waiter, response._paging_state)
        except CqsError:
            raise
        except Exception as error:
            was_sent = was_sent or (response is not None and len(response.attempted_hosts) > 1)
            raise told(error, kind, self._place, was_sent=was_sent) from error
        finally:
            self._waiting.discard(waiter)
            del waiter, response  # They hold the error, and it holds this frame: a reference cycle.

    def _done(self, rows: Any, waiter: asyncio.Future[list[Any]]) -> None:
        self._tell([] if rows is None else list(rows), waiter)

    def _tell(self, outcome: list[Any] | Exception, waiter: asyncio.Future[list[Any]]) -> None:
        """Called in the loop, where answers arrive, or in a thread of the driver, which gives requests up."""
        if self._reactor.is_in_loop():
            settle(waiter, outcome)
        else:
            self._reactor.soon(settle, waiter, outcome)
