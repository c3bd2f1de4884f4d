"""Messages in their rows: added, removed, read by address, read from a row's beginning.

Reads by address need no mark: each is one seek. A message with a wrong checksum is left out and logged: it is never
delivered, and its neighbours are not affected.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import structlog

from cqs import ids
from cqs.clock import Clock
from cqs.errors import StoreUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.store import rows
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.addresses import (
    address_of,
    by_row,
    place_of,
    stamp_of,
    ttl_s_of,
)
from cqs.store.cassandra.cluster import PLAIN
from cqs.store.cassandra.failures import TooMuchToRead
from cqs.store.cassandra.marks import Marks
from cqs.store.cassandra.partitions import Partitions, together
from cqs.store.cassandra.session import Row, Session, Write
from cqs.store.cassandra.statements import UNSET, Statement
from cqs.store.cassandra.walk import Walk

Page = list[tuple[int, Row]]
"""Addresses and columns."""

READ_BODIES_MAX = 16
READ_PLACES_MAX = 100
_log = structlog.get_logger("cqs.store")


class Messages:
    """Belongs to one event loop."""

    def __init__(self, session: Session, partitions: Partitions, marks: Marks, clock: Clock) -> None:
        self._session = session
        self._partitions = partitions
        self._marks = marks
        self._clock = clock

    async def append(self, storage_id: int, messages: Sequence[Message], *, confirmed_s: int = 0) -> None:
        """Durable when it returns. `confirmed_s`: how many seconds to keep the proof that these were stored; 0 = write
        none."""
        await self._marks.expect_late(storage_id, [message.address for message in messages])
        now_ms = self._clock.now_ms()
        writes: dict[int, list[Write]] = {}
        weights: dict[int, list[int]] = {}
        for message in messages:
            row = ids.row_of(message.address)
            lane, weight = writes.setdefault(row, []), weights.setdefault(row, [])
            lane.append(_insert(storage_id, row, message, now_ms))
            weight.append(message.weight)
            if confirmed_s:
                place = (storage_id, row, *place_of(message.address))
                lane.append(Write(cql.INSERT_CONFIRMATION, (*place, stamp_of(message.address), confirmed_s)))
                weight.append(0)
        await self._write(storage_id, writes, weights)

    async def delete(self, storage_id: int, addresses: Sequence[int], *, is_unsaid: bool = False) -> None:
        """Durable when it returns. `is_unsaid`: as if they had never been stored, even if they arrive later."""
        writes: dict[int, list[Write]] = {}
        for row, some in by_row(addresses).items():
            lane = writes[row] = []
            for address in some:
                values = (stamp_of(address) + 1, storage_id, row, *place_of(address))
                lane.append(Write(cql.DELETE_MESSAGE, values))
                if is_unsaid:
                    lane.append(Write(cql.DELETE_CONFIRMATION, values))
        await self._write(storage_id, writes, {})

    async def confirm(self, storage_id: int, addresses: Sequence[int], kept_s: int) -> None:
        """Durable when it returns; has no effect on a message that was deleted as if it had never been stored."""
        writes = {
            row: [
                Write(cql.INSERT_CONFIRMATION, (storage_id, row, *place_of(address), stamp_of(address), kept_s))
                for address in some
            ]
            for row, some in by_row(addresses).items()
        }
        await self._write(storage_id, writes, {})

    async def _write(self, storage_id: int, writes: dict[int, list[Write]], weights: dict[int, list[int]]) -> None:
        if len(writes) == 1:
            ((row, lane),) = writes.items()
            await self._partitions.write((storage_id, row), lane, weights.get(row, ()))
        elif writes:
            await together(
                self._partitions.write((storage_id, row), lane, weights.get(row, ())) for row, lane in writes.items()
            )

    async def read(self, storage_id: int, addresses: Sequence[int], profile: str = PLAIN) -> list[Message]:
        """The messages that exist, in the requested order."""
        found = await self._at(cql.READ_MESSAGES, storage_id, addresses, READ_BODIES_MAX, profile)
        messages = {address: _decode(storage_id, address, columns) for address, columns in found.items()}
        return [message for address in addresses if (message := messages.get(address)) is not None]

    async def existing(self, storage_id: int, addresses: Sequence[int]) -> set[int]:
        return set(await self._at(cql.FIND_MESSAGES, storage_id, addresses, READ_PLACES_MAX))

    async def confirmed(self, storage_id: int, addresses: Sequence[int]) -> set[int]:
        """Which of them have been stored, even if they have been deleted since."""
        return set(await self._at(cql.FIND_CONFIRMATIONS, storage_id, addresses, READ_PLACES_MAX))

    async def stored(self, storage_id: int, addresses: Sequence[int]) -> dict[int, Row]:
        """Those that exist, without bodies, as for a scan."""
        return await self._at(cql.FIND_STORED, storage_id, addresses, READ_PLACES_MAX)

    async def _at(
        self, statement: Statement, storage_id: int, addresses: Sequence[int], at_once: int, profile: str = PLAIN
    ) -> dict[int, Row]:
        asked: list[tuple[int, list[int]]] = []
        for row, some in by_row(set(addresses)).items():
            asked += [(row, some[start : start + at_once]) for start in range(0, len(some), at_once)]
        answers = await asyncio.gather(
            *[
                self._session.read(statement, (storage_id, row, [place_of(address) for address in some]), profile)
                for row, some in asked
            ]
        )
        return {
            address_of(row, columns[0], columns[1]): columns
            for (row, _), answer in zip(asked, answers, strict=True)
            for columns in answer
        }

    async def head(self, queue: Queue, row: int, limit: int) -> list[Message]:
        """The oldest messages of the row."""
        await self._marks.load(queue)
        storage_id = queue.storage_id
        found = {message.address: message for message in await self._late_messages(queue, row)}
        walk, limit_at = self._walk(cql.HEAD_MESSAGES, queue, row), self._marks.limit()
        first_at: int | None = None
        living = 0
        while not walk.is_over and living < limit:
            for columns in await walk.next(limit - living):
                first_at = columns[0] if first_at is None else first_at
                address = address_of(row, columns[0], columns[1])
                message = _decode(storage_id, address, columns)
                if message is not None:
                    found[address] = message
                    living += 1
        self._marks.learn(queue, row, first_at, limit_at)
        return [found[address] for address in sorted(found)[:limit]]

    async def _late_messages(self, queue: Queue, row: int) -> list[Message]:
        late = self._marks.late(queue, row)
        if not late:
            return []
        messages = await self.read(queue.storage_id, late)
        self._marks.miss_late(queue, row, list(set(late) - {message.address for message in messages}))
        return messages

    async def pages(self, queue: Queue, row: int, limit: int, *, is_deep: bool) -> AsyncIterator[Page]:
        """The row's messages without bodies, in order, with their addresses. `is_deep`: from the oldest that any
        retention keeps, whatever the mark says."""
        late = {} if is_deep else await self.stored(queue.storage_id, self._marks.late(queue, row))
        walk, limit_at = self._walk(cql.SCAN_MESSAGES, queue, row, is_deep=is_deep), self._marks.limit()
        first_at: int | None = None
        is_first = True
        while not walk.is_over:
            columns = await walk.next(limit)
            if columns and first_at is None:
                first_at = columns[0][0]
            page = {address_of(row, one[0], one[1]): one for one in columns}
            if is_first:
                page = dict(sorted({**late, **page}.items()))
                is_first = False
            if page:
                yield list(page.items())
        if not is_deep:
            self._marks.learn(queue, row, first_at, limit_at)

    def _walk(self, statement: Statement, queue: Queue, row: int, *, is_deep: bool = False) -> Walk:
        start_at = self._marks.oldest(queue) if is_deep else self._marks.floor(queue, row)
        return Walk(self._session, self._clock, statement, queue.storage_id, row, start_at=start_at)

    async def occupied(self, queue: Queue, wanted: Sequence[int], *, is_deep: bool = False) -> list[int]:
        """Those of the rows that may hold messages, by one query; in the worst case all. `is_deep`: see `pages`."""
        if not wanted:
            return []
        await self._marks.load(queue)
        start_at = self._marks.oldest(queue) if is_deep else min(self._marks.floor(queue, row) for row in wanted)
        late = [] if is_deep else [row for row in wanted if self._marks.late(queue, row)]
        try:
            found = await self._session.read(cql.OCCUPIED_ROWS, (queue.storage_id, list(wanted), start_at))
        except TooMuchToRead:
            return list(wanted)
        return sorted({*late, *[columns[0] for columns in found]})

    async def drop(self, storage_id: int, row: int, stamp: int) -> None:
        """Deletes a whole partition."""
        values = (stamp, storage_id, row)
        await self._session.write([Write(cql.DROP_MESSAGES, values), Write(cql.DROP_RECEIVES, values)])


def _insert(storage_id: int, row: int, message: Message, now_ms: int) -> Write:
    try:
        _, _, _, sequence, sent_ms, visible_ms, group, checksum, meta, body = rows.encode(storage_id, message)
    except UnicodeEncodeError as error:
        raise StoreUnavailable(f"A text is not valid Unicode: {error.reason}. Nothing was written.") from error
    address = message.address
    values = (
        storage_id,
        row,
        *place_of(address),
        UNSET if sent_ms is None else sent_ms,
        visible_ms or UNSET,
        UNSET if group is None else group,
        sequence or UNSET,
        checksum,
        UNSET if meta is None else meta,
        body,
        stamp_of(address),
        ttl_s_of(address, now_ms),
    )
    return Write(cql.INSERT_MESSAGE, values)


def _decode(storage_id: int, address: int, columns: Row) -> Message | None:
    _, _, sent_ms, visible_ms, group, sequence, checksum, meta, body = columns
    key, tail = ids.key_of(address), ids.tail_of(address)
    message = rows.decode(
        (key, storage_id, tail, sequence or 0, sent_ms, visible_ms or 0, group, checksum, meta, body or b"")
    )
    if message is None:
        _log.error("damaged_message", queue=storage_id, message=ids.text_of(address))
    return message
