"""One Redis server as the cache sees it: a link, its gate, who it is and how much it holds.

Each new connection greets the server before anybody's command: its run id names this life of it, and a server that
would lose messages silently is refused, with the reason: a replica, one that may evict keys, one older than 6.2.
Persistence is only pointed out: what comes back from a disk has another run id, and counts as absent.

Content is kept within a budget of bytes of the server's memory, all of it (INFO memory), asked for once a second while
messages are put, plus what was put since by this node. So nothing has to be counted for each shard, and nothing drifts
when keys expire; with N nodes it may be overdrawn by what the others put within a second.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Protocol, cast

import msgspec

from cqs.cache.redis.connection import Address, Link, Send
from cqs.cache.redis.replies import ConnectionLost, Refused, Reply
from cqs.cache.redis.script import Script
from cqs.cache.redis.scripts import all_scripts
from cqs.cache.report import ServerReport
from cqs.errors import CacheUnavailable

REGAIN_S = 0.5
LOOK_MS = 1_000
VERSION_MIN = (6, 2)
RUN_ID_LENGTH = 16


class Gate(Protocol):
    """A circuit breaker; see `cqs.cluster.breaker`."""

    @property
    def is_open(self) -> bool: ...

    def may_call(self, now_ms: float) -> bool: ...

    def succeeded(self) -> None: ...

    def failed(self, now_ms: float) -> None: ...

    def abandoned(self) -> None: ...


class RedisServer:
    """A `ScriptRunner` over a link. `budget_bytes`: above this used memory, content is not kept any more."""

    def __init__(
        self, address: Address, gate: Gate, rng: random.Random, budget_bytes: int, timeout_s: float = 1.0
    ) -> None:
        self.address = address
        self.link = Link(address, rng, self._greet, timeout_s)
        self._gate = gate
        self._budget_bytes = budget_bytes
        self._run_id = b""
        self._used_bytes = 0
        self._look_ms = 0.0
        self._losses = 0
        self._warnings: list[str] = []

    @property
    def run_id(self) -> bytes:
        return self._run_id

    @property
    def is_reached(self) -> bool:
        return self.link.is_connected and not self._gate.is_open

    async def start(self) -> None:
        await self.link.start()

    async def close(self) -> None:
        await self.link.close()

    async def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Reply:
        gate = self._gate
        if not gate.may_call(_now_ms()):
            raise CacheUnavailable(f"Redis {self.address} is left alone for a while: {self.link.reason}")
        try:
            reply = await self.link.run(script, keys, arguments)
        except Refused:
            gate.succeeded()
            raise
        except ConnectionLost:
            self._note_loss()
            raise
        except CacheUnavailable:
            gate.failed(_now_ms())
            raise
        except BaseException:
            gate.abandoned()
            raise
        gate.succeeded()
        return reply

    async def regained(self) -> bool:
        return await self.link.connected(REGAIN_S)

    def has_room(self, size: int) -> bool:
        now_ms = _now_ms()
        if now_ms >= self._look_ms and self.link.is_connected:
            self._look_ms = now_ms + LOOK_MS
            self.link.call(b"INFO", b"memory").add_done_callback(self._note_memory)
        if self._used_bytes + size > self._budget_bytes:
            return False
        self._used_bytes += size
        return True

    async def report(self) -> ServerReport:
        if not self.link.is_connected:
            return self._report(f"can't be reached: {self.link.reason}")
        try:
            told = _fields(await self.link.call(b"INFO"))
            return msgspec.structs.replace(
                self._report(*self._warnings, *_eviction(told)),
                version=told.get("redis_version", ""),
                used_bytes=int(_told(told, "used_memory")),
                keys=_keys(told, self.address.database),
                clients=int(_told(told, "connected_clients")),
            )
        except CacheUnavailable as error:
            return self._report(str(error))

    def _report(self, *problems: str) -> ServerReport:
        return ServerReport(problems=problems, budget_bytes=self._budget_bytes, is_left_alone=self._gate.is_open)

    def _note_loss(self) -> None:
        """A lost connection is one failure, however many calls were under way."""
        if self._losses != self.link.losses:
            self._losses = self.link.losses
            self._gate.failed(_now_ms())

    def _note_memory(self, answer: asyncio.Future[Reply]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            self._used_bytes = int(_fields(answer.result()).get("used_memory", self._used_bytes))

    async def _greet(self, send: Send) -> None:
        """Raises CacheUnavailable, which keeps the link from being used, when the server is not fit."""
        server, role, memory = [_fields(await send(b"INFO", part)) for part in (b"server", b"replication", b"memory")]
        version = _told(server, "redis_version")
        if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < VERSION_MIN:
            raise CacheUnavailable(f"it is Redis {version}; 6.2 or newer is needed")
        if _told(role, "role") != "master":
            raise CacheUnavailable("it is a replica; what a replica misses would be lost silently")
        for problem in _eviction(memory):
            raise CacheUnavailable(problem)
        self._used_bytes = int(_told(memory, "used_memory"))
        self._warnings = await _persistence(send)
        await _teach(send)
        self._run_id = _told(server, "run_id")[:RUN_ID_LENGTH].encode()


async def _teach(send: Send) -> None:
    """Lets the server know the scripts that it does not know yet."""
    scripts = all_scripts()
    known = await send(b"SCRIPT", b"EXISTS", *(script.sha for script in scripts))
    for script, is_known in zip(scripts, cast("list[int]", known), strict=True):
        if not is_known:
            await send(b"SCRIPT", b"LOAD", script.text)


def _now_ms() -> float:
    return asyncio.get_running_loop().time() * 1000


def _fields(info: Reply) -> dict[str, str]:
    """The `name:value` lines of an INFO."""
    lines = cast(bytes, info).decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _told(fields: dict[str, str], name: str) -> str:
    if name not in fields:
        raise CacheUnavailable(f"its INFO does not tell {name}; it is no Redis")
    return fields[name]


def _keys(told: dict[str, str], database: int) -> int:
    """A database that holds none is not told of."""
    counted = dict(part.split("=", 1) for part in told.get(f"db{database}", "").split(",") if "=" in part)
    return int(counted.get("keys", 0))


def _eviction(memory: dict[str, str]) -> list[str]:
    policy = _told(memory, "maxmemory_policy")
    if _told(memory, "maxmemory") == "0" or policy == "noeviction":
        return []
    return [f"maxmemory-policy is {policy}, so it may throw messages away; set it to noeviction"]


async def _persistence(send: Send) -> list[str]:
    try:
        settings = [await send(b"CONFIG", b"GET", name) for name in (b"save", b"appendonly")]
    except Refused as error:
        return [f"its settings can't be read ({error}); it should not write to disk"]
    save, append_only = [cast("list[bytes]", setting)[1] for setting in settings]
    found = ['it saves to disk, which only costs time; set save ""'] if save else []
    if append_only == b"yes":
        found.append("it writes an append-only file, which only costs time; set appendonly no")
    return found
