"""Parts of the Cassandra store that need no Cassandra: error texts, batches, and narrowed ranges."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest
from cassandra import OperationTimedOut, ReadFailure, Unavailable, WriteFailure, WriteTimeout, WriteType
from cassandra.cluster import NoConnectionsAvailable, NoHostAvailable
from cassandra.connection import ConnectionShutdown

from cqs import ids
from cqs.errors import CqsError, OutcomeUnknown, StoreUnavailable
from cqs.store.cassandra import schema, statements
from cqs.store.cassandra.addresses import address_of, place_of, stamp_of, ttl_s_of
from cqs.store.cassandra.failures import TooMuchToRead, told
from cqs.store.cassandra.partitions import BATCH_STATEMENTS_MAX, BATCH_WEIGHT_MAX, Partitions
from cqs.store.cassandra.session import Session, Write
from cqs.store.cassandra.statements import Kind
from cqs.store.cassandra.walk import NARROWINGS_MAX, Walk
from cqs.testing.clock import ManualClock

DAY_MS = 86_400_000

ALONE = {"127.0.0.1:1": ConnectionRefusedError(111, "refused")}
IN_FLIGHT = {"127.0.0.1:1": ConnectionShutdown("closed")}
FAILURES = [
    (Unavailable("u", required_replicas=2, alive_replicas=1), Kind.WRITE, StoreUnavailable),
    (Unavailable("u", required_replicas=2, alive_replicas=1), Kind.DECIDE, StoreUnavailable),
    (NoHostAvailable("n", ALONE), Kind.WRITE, StoreUnavailable),
    (NoHostAvailable("n", {"127.0.0.1:1": NoConnectionsAvailable()}), Kind.WRITE, StoreUnavailable),
    (NoHostAvailable("n", IN_FLIGHT), Kind.WRITE, OutcomeUnknown),
    (NoHostAvailable("n", ALONE | {"127.0.0.2:1": OperationTimedOut()}), Kind.WRITE, OutcomeUnknown),
    (OperationTimedOut(), Kind.WRITE, OutcomeUnknown),
    (WriteTimeout("w", write_type=WriteType.UNLOGGED_BATCH), Kind.WRITE, OutcomeUnknown),
    (WriteTimeout("w", write_type=WriteType.CAS), Kind.DECIDE, OutcomeUnknown),
    (WriteFailure("w", write_type=WriteType.SIMPLE), Kind.WRITE, OutcomeUnknown),
    (ConnectionShutdown("closed"), Kind.WRITE, OutcomeUnknown),
    (RuntimeError("a bug"), Kind.WRITE, OutcomeUnknown),
    (RuntimeError("a bug"), Kind.READ, StoreUnavailable),
    (NoHostAvailable("n", IN_FLIGHT), Kind.READ, StoreUnavailable),
    (ReadFailure("READ_TOO_MANY_TOMBSTONES"), Kind.READ, TooMuchToRead),
    (OperationTimedOut(), Kind.READ, TooMuchToRead),
]


@pytest.mark.parametrize(
    "error, kind, expected", FAILURES, ids=[f"{type(f[0]).__name__}-{f[1].value}" for f in FAILURES]
)
def test_a_drivers_error_is_told_in_the_stores_words(error: Exception, kind: Kind, expected: type[CqsError]) -> None:
    failure = told(error, kind, "127.0.0.1:9042")

    assert type(failure) is expected
    assert str(failure).startswith("Cassandra at 127.0.0.1:9042: ")
    assert "\n" not in str(failure)


def test_an_address_is_found_again_in_its_columns() -> None:
    address = ids.pack(1_790_000_000_000 << 20 | 5, 77 << 50 | 12_345)

    assert address_of(77, *place_of(address)) == address
    assert stamp_of(address) == 1_790_000_000_000_000


@pytest.mark.parametrize(
    "age_ms, ttl_s", [(0, 1_209_600), (DAY_MS, 1_123_200), (-DAY_MS, 1_209_600), (15 * DAY_MS, 60)], ids=str
)
def test_a_message_lives_for_fourteen_days_less_its_age(age_ms: int, ttl_s: int) -> None:
    assert ttl_s_of(ids.pack(1_790_000_000_000 << 20, 0), 1_790_000_000_000 + age_ms) == ttl_s


def test_every_statement_names_tables_of_the_schema() -> None:
    tables = {text.split()[5] for text in schema.table_statements()}

    used = {word for one in statements.ALL for place, word in zip(one.cql.split(), one.cql.split()[1:], strict=False)
            if place in ("FROM", "INTO", "UPDATE")}  # fmt: skip

    assert used <= tables | {"system.local"}
    assert "messages" in used


class Writer:
    """Replaces the session: accepts batches, and answers when the test says so."""

    def __init__(self) -> None:
        self.batches: list[list[Write]] = []
        self.errors: list[CqsError | None] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def write(self, writes: Sequence[Write], since_s: float = 0.0) -> None:
        self.batches.append(list(writes))
        error = self.errors.pop(0) if self.errors else None
        await self.gate.wait()
        if error is not None:
            raise error


async def turns() -> None:
    """Lets the event loop run all pending work."""
    for _ in range(5):
        await asyncio.sleep(0)


def write(number: int) -> Write:
    return Write(statements.INSERT_LATE, (number,))


class TestPartitions:
    @pytest.fixture
    def writer(self) -> Writer:
        return Writer()

    @pytest.fixture
    def partitions(self, writer: Writer) -> Partitions:
        return Partitions(writer.write)

    async def test_a_lone_write_goes_at_once(self, writer: Writer, partitions: Partitions) -> None:
        await partitions.write("a", [write(1)])

        assert writer.batches == [[write(1)]]

    async def test_what_comes_while_a_batch_is_under_way_goes_into_the_next(
        self, writer: Writer, partitions: Partitions
    ) -> None:
        writer.gate.clear()
        first = asyncio.ensure_future(partitions.write("a", [write(1)]))
        await turns()
        others = [asyncio.ensure_future(partitions.write("a", [write(number)])) for number in (2, 3)]
        elsewhere = asyncio.ensure_future(partitions.write("b", [write(4)]))
        await turns()

        writer.gate.set()
        await asyncio.gather(first, *others, elsewhere)

        assert writer.batches == [[write(1)], [write(4)], [write(2), write(3)]]

    async def test_batches_are_bounded_in_number_and_in_bytes(self, writer: Writer, partitions: Partitions) -> None:
        many = [write(number) for number in range(BATCH_STATEMENTS_MAX + 1)]
        await partitions.write("a", many)
        await partitions.write("b", many[:3], [BATCH_WEIGHT_MAX - 1_000] * 3)

        assert [len(batch) for batch in writer.batches] == [BATCH_STATEMENTS_MAX, 1, 1, 1, 1]

    async def test_everybody_in_a_batch_gets_its_error_and_the_next_is_tried_afresh(
        self, writer: Writer, partitions: Partitions
    ) -> None:
        writer.errors = [OutcomeUnknown("cut")]

        calls = [partitions.write("a", [write(number)]) for number in (1, 2)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        await partitions.write("a", [write(3)])

        assert [type(outcome) for outcome in outcomes] == [OutcomeUnknown] * 2
        assert len(writer.batches) == 2

    @pytest.mark.parametrize(
        "errors, expected",
        [
            ([StoreUnavailable("x"), StoreUnavailable("x")], StoreUnavailable),
            ([StoreUnavailable("x"), None], OutcomeUnknown),
            ([None, OutcomeUnknown("x")], OutcomeUnknown),
            ([StoreUnavailable("x"), OutcomeUnknown("x")], OutcomeUnknown),
        ],
    )
    async def test_nothing_was_written_is_reported_only_if_every_part_reports_it(
        self, writer: Writer, partitions: Partitions, errors: list[CqsError | None], expected: type[CqsError]
    ) -> None:
        writer.errors = errors

        with pytest.raises(expected):
            await partitions.write("a", [write(number) for number in range(BATCH_STATEMENTS_MAX + 1)])

    async def test_a_caller_that_goes_away_takes_nobody_with_it(self, writer: Writer, partitions: Partitions) -> None:
        gone = asyncio.ensure_future(partitions.write("a", [write(1)]))
        stays = asyncio.ensure_future(partitions.write("a", [write(2)]))
        await asyncio.sleep(0)

        gone.cancel()
        await stays

        assert writer.batches == [[write(1), write(2)]]


class Row:
    """A row of a queue with messages at `living`; a read fails if it passes more than `dead_max` tombstones."""

    def __init__(self, living: Sequence[int], dead_max: int) -> None:
        self.living = living
        self.dead_max = dead_max
        self.reads = 0
        self.error = TooMuchToRead("too many")

    async def read(self, statement: object, values: tuple[int, ...]) -> list[tuple[int, int]]:
        self.reads += 1
        _, _, after, _, before, limit = values
        found = [at for at in self.living if after < at < before][:limit]
        end = found[-1] if len(found) == limit else min(before, self.living[-1])
        if end - max(after, 0) - len(found) > self.dead_max:
            raise self.error
        return [(at, 0) for at in found]


class TestWalk:
    def walk(self, row: Row, start_at: int = 0) -> Walk:
        return Walk(cast(Session, row), ManualClock(), statements.FIRST_MESSAGE, 1, 1, start_at=start_at)

    async def test_one_read_is_enough_without_tombstones(self) -> None:
        row = Row([1, 2, 3], 100)
        walk = self.walk(row)

        assert await walk.next(10) == [(1, 0), (2, 0), (3, 0)]
        assert (walk.is_over, row.reads) == (True, 1)

    async def test_every_message_between_tombstones_is_found_in_order(self) -> None:
        now_at = ManualClock().now_ms() << 20
        living = [now_at + offset for offset in (5, 6, 40_000, 90_000, 90_001)]
        row = Row(living, 1_000)
        walk = self.walk(row, now_at)

        found: list[int] = []
        while not walk.is_over:
            found += [at for at, _ in await walk.next(2)]

        assert found == living
        assert walk.narrowings > 0

    async def test_a_server_that_only_times_out_is_given_up_soon(self) -> None:
        row = Row([1 << 60], 0)
        row.error = TooMuchToRead("slow", is_timeout=True)

        with pytest.raises(StoreUnavailable):
            await self.walk(row).next(1)
        assert row.reads == 2

    async def test_a_row_that_can_not_be_read_at_all_ends(self) -> None:
        row = Row([1 << 61], -1)

        with pytest.raises(StoreUnavailable):
            await self.walk(row).next(1)
        assert row.reads <= NARROWINGS_MAX
