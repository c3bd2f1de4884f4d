"""Which server a shard lives on, and how a script is run there, or on all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from cqs.cache.bells import Promise
from cqs.cache.interface import Shard
from cqs.cache.redis import keys
from cqs.cache.redis.replies import Reply
from cqs.cache.redis.runner import ScriptRunner
from cqs.cache.redis.script import Script
from cqs.cache.redis.server_list import ServerList
from cqs.cache.report import ServerReport
from cqs.errors import CacheUnavailable

_PLACES_MAX = 100_000


def _nobody(_: Shard, __: int) -> None:
    return None


class _Place(NamedTuple):
    """Where a shard lives, the keys its scripts get, and what the server is called."""

    server: ScriptRunner
    keys: tuple[bytes, bytes]
    name: str


class Servers:
    """`by_name` by name; `owner` names the one of a key. Every script is told the time to go by (empty: the server's
    own), the life of the server, how long an idle shard is kept, and who asks: the node, and how many of its receives
    the call is promised."""

    def __init__(
        self,
        by_name: Mapping[str, ScriptRunner],
        owner: Callable[[bytes], str],
        keep_ms: int,
        now_ms: Callable[[], int] | None,
        node: bytes,
    ) -> None:
        self._by_name = by_name
        self._owner = owner
        self._keep = b"%d" % keep_ms
        self._now_ms = now_ms
        self.node = node
        self.promise: Callable[[Shard, int], Promise | None] = _nobody
        self.listed: ServerList | None = None
        """The list that they are, where nodes share them."""
        self._places: dict[Shard, _Place] = {}

    @property
    def count(self) -> int:
        return len(self._by_name)

    async def start(self) -> None:
        """Connects to all; one that can't be reached is tried again and again."""
        await asyncio.gather(*(server.start() for server in self._by_name.values()))

    async def close(self) -> None:
        """Idempotent."""
        await asyncio.gather(*(server.close() for server in self._by_name.values()))

    def lost(self) -> list[str]:
        """Those that can't be reached now, by name."""
        return [name for name, server in self._by_name.items() if not server.is_reached]

    def short(self) -> list[str]:
        """Those that have no room, or hardly any, by name."""
        return [name for name, server in self._by_name.items() if server.is_short]

    def in_trouble(self) -> int:
        """How many can't serve their shards, or not wholly."""
        return sum(bool(server.trouble) for server in self._by_name.values())

    async def reports(self) -> dict[str, ServerReport]:
        """What each tells of itself, asked side by side."""
        found = await asyncio.gather(*(server.report() for server in self._by_name.values()))
        return dict(zip(self._by_name, found, strict=True))

    def of(self, shard: Shard) -> ScriptRunner:
        """The server that the shard lives on."""
        return (self._places.get(shard) or self._find(shard)).server

    def name_of(self, shard: Shard) -> str:
        """The name of the server that the shard lives on."""
        return (self._places.get(shard) or self._find(shard)).name

    def run(self, script: Script, shard: Shard, *words: bytes | str | int) -> Coroutine[object, object, Reply]:
        """Runs the script on the shard. Raises CacheUnavailable."""
        return self._run(script, shard, self.node, words)

    def run_freeing(
        self, script: Script, shard: Shard, count_max: int, *words: bytes | str | int
    ) -> Coroutine[object, object, Reply]:
        """As `run`, a script that makes up to `count_max` messages ready: as many receives of this node are to be woken
        in the turn of the loop in which it returns, if so many sleep; others are told of the rest."""
        promise = self.promise(shard, count_max) if count_max else None
        if promise is None:
            return self._run(script, shard, self.node, words)
        return self._run_promised(promise, script, shard, words)

    async def _run_promised(
        self, promise: Promise, script: Script, shard: Shard, words: tuple[bytes | str | int, ...]
    ) -> Reply:
        try:
            return await self._run(script, shard, self._with(promise), words)
        finally:
            asyncio.get_running_loop().call_soon(promise.release)

    @contextmanager
    def freeing(self, shard: Shard) -> Iterator[Callable[..., Coroutine[object, object, Reply]]]:
        """`run_freeing` of this shard for several calls, one after the other, after all of which receives are woken:
        until then none of them is promised to two."""
        promises: list[Promise] = []

        def run(script: Script, count_max: int, *words: bytes | str | int) -> Coroutine[object, object, Reply]:
            promise = self.promise(shard, count_max) if count_max else None
            if promise is None:
                return self._run(script, shard, self.node, words)
            promises.append(promise)
            return self._run(script, shard, self._with(promise), words)

        try:
            yield run
        finally:
            for promise in promises:
                asyncio.get_running_loop().call_soon(promise.release)

    def _with(self, promise: Promise) -> bytes:
        return b"%b %d" % (self.node, promise.count)

    def _run(
        self, script: Script, shard: Shard, who: bytes, words: tuple[bytes | str | int, ...]
    ) -> Coroutine[object, object, Reply]:
        server, shard_keys, _ = self._places.get(shard) or self._find(shard)
        return server.run(script, shard_keys, (self._now(), server.run_id, self._keep, who, *words))

    def run_together(
        self, server: ScriptRunner, script: Script, shards: Sequence[Shard]
    ) -> Coroutine[object, object, Reply]:
        """Runs the script on several shards of that server, in one step there. Raises CacheUnavailable."""
        state_keys = [(self._places.get(shard) or self._find(shard)).keys[0] for shard in shards]
        return server.run(script, (*state_keys, keys.VESTING), (self._now(), server.run_id, self._keep, self.node))

    async def run_everywhere(self, script: Script, *words: int) -> list[Reply]:
        """Runs the script on every server; the answers of those that can be reached. Raises CacheUnavailable when none
        can."""
        now = self._now()
        calls = [
            server.run(script, (keys.VESTING,), (now, server.run_id, self._keep, self.node, *words))
            for server in self._by_name.values()
        ]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        failures = [answer for answer in answers if isinstance(answer, BaseException)]
        for failure in failures:
            if len(failures) == len(answers) or not isinstance(failure, CacheUnavailable):
                raise failure
        return [answer for answer in answers if not isinstance(answer, BaseException)]

    def _now(self) -> bytes:
        return b"" if self._now_ms is None else b"%d" % self._now_ms()

    def _find(self, shard: Shard) -> _Place:
        if len(self._places) >= _PLACES_MAX:
            self._places.clear()
        state_key = keys.state_key(shard)
        name = self._owner(state_key)
        place = self._places[shard] = _Place(self._by_name[name], (state_key, keys.VESTING), name)
        return place
