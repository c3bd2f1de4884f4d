"""Finds the server of a shard, and runs scripts there or on all servers."""

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
    """The server of a shard, the keys its scripts get, and the server's name."""

    server: ScriptRunner
    keys: tuple[bytes, bytes]
    name: str


class Servers:
    """`by_name` by name; `owner` returns the name of the server that holds a key. Every script gets the time to use
    (empty: the server's own), the life of the server, how long an idle shard is kept, and the caller: the node, and how
    many of its receives are promised to the call."""

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
        """The list of servers, where nodes share them."""
        self._places: dict[Shard, _Place] = {}

    @property
    def count(self) -> int:
        return len(self._by_name)

    async def start(self) -> None:
        """Connects to all; keeps retrying those that can't be reached."""
        await asyncio.gather(*(server.start() for server in self._by_name.values()))

    async def close(self) -> None:
        """Idempotent."""
        await asyncio.gather(*(server.close() for server in self._by_name.values()))

    def lost(self) -> list[str]:
        """Names of the servers that can't be reached now."""
        return [name for name, server in self._by_name.items() if not server.is_reached]

    def short(self) -> list[str]:
        """Names of the servers that have no memory left, or hardly any."""
        return [name for name, server in self._by_name.items() if server.is_short]

    def in_trouble(self) -> int:
        """How many servers can't (fully) serve their shards."""
        return sum(bool(server.trouble) for server in self._by_name.values())

    async def reports(self) -> dict[str, ServerReport]:
        """The status of each server, queried concurrently."""
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
        """Like `run`, for a script that makes up to `count_max` messages ready: the caller must wake as many receives
        of this node, if so many sleep, in the event loop iteration in which this returns; other nodes are notified of
        the rest."""
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
        """`run_freeing` for several calls on this shard in succession, after all of which receives are woken: until
        then no receive is promised to two calls."""
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
        """Runs the script on several shards of one server, in one step. Raises CacheUnavailable."""
        state_keys = [(self._places.get(shard) or self._find(shard)).keys[0] for shard in shards]
        return server.run(script, (*state_keys, keys.VESTING), (self._now(), server.run_id, self._keep, self.node))

    async def run_everywhere(self, script: Script, *words: int) -> list[Reply]:
        """Runs the script on every server; returns the answers of the servers that can be reached. Raises
        CacheUnavailable when none can."""
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
