"""Reads messages without receiving them: nothing is hidden, counted, reordered or leased.

    cache.peek (ids, states) ──► filters on ids and groups ──► bodies (cache, else store) ──► filters on contents

A page ends after `count_max` matches, `scan_max` messages scanned, or PAGE_BYTES_MAX of their bodies, matching or not,
whichever comes first, and says where the next page continues. Messages that come or go meanwhile may be seen or missed;
none is seen twice, since a page continues above the last address. (Browsing, for people, continues after the last
message wherever it stands now, and may show a message twice if it moved to the front.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from cqs import ids, limits
from cqs.cache.entry import Entry, State
from cqs.errors import InvalidParameterValue, ResourceNotFound
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import residency
from cqs.service.counting import holding
from cqs.service.engine import Engine, shard_of

COUNT_DEFAULT, COUNT_MAX = 10, 100
SCAN_DEFAULT, SCAN_MAX = 1_000, 10_000
PAGE_BYTES_MAX = 8_000_000
TURN_BYTES = 500_000
"""Bytes of bodies scanned before other tasks get a turn."""
BODIES_A_READ = 16
BROWSES_MAX = 40
SEARCH_PAGE = 1_000


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """All given fields must match; None = any. `text` is a substring of the body, ignoring case."""

    text: str | None = None
    message_id: str | None = None
    group: str | None = None
    attribute: str | None = None
    attribute_value: str | None = None

    def admits(self, entry: Entry) -> bool:
        """The part of the filter that needs no content."""
        return self.group is None or entry.group == self.group

    def matches(self, message: Message) -> bool:
        if self.message_id is not None and self.message_id not in (message.message_id, ids.text_of(message.address)):
            return False
        if self.text is not None and self.text.casefold() not in message.body.casefold():
            return False
        return self.attribute is None or any(
            one.name == self.attribute
            and (self.attribute_value is None or one.value == self.attribute_value.encode(errors="surrogatepass"))
            for one in message.attributes
        )

    @property
    def is_empty(self) -> bool:
        return self == _EVERYTHING


_EVERYTHING = Filter()


class Peeked(msgspec.Struct, frozen=True):
    """A message with its state in the cache."""

    message: Message
    state: State
    visible_ms: int
    receive_count: int
    first_receive_ms: int


class PeekPage(msgspec.Struct, frozen=True):
    """`after` continues it; None = there are no more."""

    found: list[Peeked]
    scanned: int
    after: int | None


async def peek(
    engine: Engine,
    queue: Queue,
    state: State,
    *,
    after: int | None = None,
    count_max: int = COUNT_DEFAULT,
    scan_max: int = SCAN_DEFAULT,
    wanted: Filter = _EVERYTHING,
    is_browsing: bool = False,
) -> PeekPage:
    """Messages in that state in order of their addresses, from above `after`. On Redis this walks the queue. Browsing
    costs only what the page costs: it looks at `scan_max` positions roughly in queue order (see `QueueCache.browse`),
    and `after` is the one its previous page returned. Raises InvalidParameterValue, CacheUnavailable,
    StoreUnavailable."""
    _check("MaxResults", count_max, COUNT_MAX)
    _check("ScanLimit", scan_max, SCAN_MAX)
    await residency.fill_to_look(engine, queue)
    limit = count_max if wanted.is_empty and not is_browsing else scan_max
    look = engine.cache.browse if is_browsing else engine.cache.peek
    page = await look(shard_of(queue), state, after, limit)
    found: list[Peeked] = []
    scanned = size = 0
    for start in range(0, len(page.entries), BODIES_A_READ):
        batch = page.entries[start : start + BODIES_A_READ]
        contents = await _contents(engine, queue, [entry for entry in batch if wanted.admits(entry)])
        for entry in batch:
            scanned += 1
            message = contents.get(entry.address)
            if message is None:
                continue
            size += len(message.body)
            if size // TURN_BYTES > (size - len(message.body)) // TURN_BYTES:
                await asyncio.sleep(0)
            if wanted.matches(message):
                found.append(_peeked(entry, message))
            if len(found) >= count_max or size >= PAGE_BYTES_MAX:
                is_end = scanned == len(page.entries)
                return PeekPage(found, scanned, page.after if is_end else page.after_entry(scanned - 1))
    return PeekPage(found, scanned, page.after)


async def oldest(engine: Engine, queue: Queue, state: State, count: int) -> tuple[list[Peeked], bool]:
    """The first `count` messages in that state, or those of the first BROWSES_MAX pages, and whether there are more.
    Their bodies are in memory all at once, so it ends early at PAGE_BYTES_MAX. Raises CacheUnavailable,
    StoreUnavailable."""
    await residency.fill_to_look(engine, queue)
    found: list[Peeked] = []
    size = 0
    after: int | None = None
    for _ in range(BROWSES_MAX):
        page = await engine.cache.browse(shard_of(queue), state, after, count - len(found))
        for start in range(0, len(page.entries), BODIES_A_READ):
            batch = page.entries[start : start + BODIES_A_READ]
            contents = await _contents(engine, queue, batch)
            found += [_peeked(entry, contents[entry.address]) for entry in batch if entry.address in contents]
            size += sum(len(message.body) for message in contents.values())
            if size >= PAGE_BYTES_MAX:
                return found, True
        after = page.after
        if after is None or len(found) >= count:
            break
    return found, after is not None


async def find(engine: Engine, queue: Queue, message_id: str, *, is_acting: bool = False) -> Peeked:
    """The message with this id or with this address as text. A moved message, looked up by its id, is searched for
    among the first SCAN_MAX of each state. `is_acting`: to change it, which may move the queue's home here. Raises
    ResourceNotFound, CacheUnavailable, StoreUnavailable."""
    await (residency.fill if is_acting else residency.fill_to_look)(engine, queue)
    address = ids.parse(message_id.lower())
    if address is not None:
        entry = (await engine.cache.lookup(shard_of(queue), [address]))[0]
        if entry is not None:
            contents = await _contents(engine, queue, [entry])
            if address in contents:
                return _peeked(entry, contents[address])
    wanted = Filter(message_id=message_id)
    for state in State:
        if (found := await _first(engine, queue, state, wanted)) is not None:
            return found
    raise ResourceNotFound(f"There is no message {message_id[:100]} in the queue {queue.name}.")


async def _first(engine: Engine, queue: Queue, state: State, wanted: Filter) -> Peeked | None:
    """The first match among the first SCAN_MAX."""
    after: int | None = None
    left = SCAN_MAX
    while left:
        page = await peek(engine, queue, state, after=after, count_max=1, scan_max=left, wanted=wanted)
        if page.found:
            return page.found[0]
        left, after = left - page.scanned, page.after
        if after is None:
            break
    return None


async def _contents(engine: Engine, queue: Queue, entries: Iterable[Entry]) -> dict[int, Message]:
    known: dict[int, Message] = {}
    missing: list[int] = []
    for entry in entries:
        if entry.message is not None:
            known[entry.address] = entry.message
        else:
            missing.append(entry.address)
    if missing:
        known.update((message.address, message) for message in await engine.store.read(queue, missing))
    return known


def _peeked(entry: Entry, message: Message) -> Peeked:
    return Peeked(message, entry.state, entry.visible_ms, entry.receive_count, entry.first_receive_ms)


def _check(parameter: str, value: int, value_max: int) -> None:
    if not 1 <= value <= value_max:
        raise InvalidParameterValue.of(value, parameter, f"Must be between 1 and {value_max}, if provided.")


async def with_messages(
    engine: Engine, account: str, prefix: str, after: str, limit: int | None
) -> tuple[list[Queue], bool]:
    """Queues that hold messages in any state, as `Registry.page`, and whether there may be more. Raises
    CacheUnavailable."""
    found: list[Queue] = []
    wanted = limit or limits.LIST_RESULTS_MAX
    while candidates := engine.registry.page(account, prefix, after, SEARCH_PAGE):
        held = await holding(engine, candidates)
        found += held
        if len(found) > wanted:
            return found[:wanted], limit is not None
        after = candidates[-1].name
    return found, False
