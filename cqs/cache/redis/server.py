"""One Redis server as the cache sees it: a link, its gate, its identity and its memory.

Each new connection greets the server before any other command: it determines which life of the server this is
(`cqs.cache.redis.life`), and refuses a server that is unfit (`cqs.cache.redis.fitness`), with the reason. The server is
checked again every LOOK_S: if it has become a replica or has started to evict keys, it is given up within a second and
its shards are served from the store until it is fixed.

Content is kept up to a budget for the server's total memory: the value in the last INFO plus what this node has put
since. So nothing is counted per shard, and nothing drifts when keys expire; with N nodes, the budget may be exceeded by
what the other nodes put between two checks.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Sequence
from time import monotonic
from typing import Protocol, cast

import msgspec
import structlog

from cqs.cache.redis.connection import Address, Link, Send
from cqs.cache.redis.fitness import disk_warnings, fields_of, is_short, keys_of, run_id_of, told, why_full, why_unfit
from cqs.cache.redis.life import Life
from cqs.cache.redis.refusals import in_words
from cqs.cache.redis.replies import ConnectionLost, Refused, Reply
from cqs.cache.redis.script import Script
from cqs.cache.redis.scripts import all_scripts
from cqs.cache.redis.server_list import ServerList
from cqs.cache.report import ServerReport
from cqs.errors import CacheUnavailable

REGAIN_S = 0.5
LOOK_S = 0.5
_log = structlog.get_logger("cqs.redis")


class Gate(Protocol):
    """A circuit breaker; see `cqs.cluster.breaker`."""

    @property
    def is_open(self) -> bool: ...

    def may_call(self, now_ms: float) -> bool: ...

    def succeeded(self) -> None: ...

    def failed(self, now_ms: float) -> None: ...

    def abandoned(self) -> None: ...


class RedisServer:
    """A `ScriptRunner` over a link. `budget_bytes`: used memory above which content is no longer kept."""

    def __init__(
        self,
        address: Address,
        gate: Gate,
        rng: random.Random,
        budget_bytes: int,
        timeout_s: float = 1.0,
        look_s: float = LOOK_S,
        name: str = "",
    ) -> None:
        self.address = address
        self.link = Link(address, rng, self._greet, timeout_s)
        self.name = name or str(address)
        self.list: ServerList | None = None
        """The list of servers it belongs to, where nodes share it; set before `start`."""
        self._is_unleft = False
        self._gate = gate
        self._budget_bytes = budget_bytes
        self._life, self._run_id = Life(rng), b""
        self._used_bytes = 0
        self._look_s = look_s
        self._looks: asyncio.Task[None] | None = None
        self._full, self._is_short = "", False
        self._losses = 0
        self._warnings: list[str] = []

    @property
    def run_id(self) -> bytes:
        return self._run_id

    @property
    def is_reached(self) -> bool:
        return self.link.is_connected and not self._gate.is_open and not self._refusal

    @property
    def _refusal(self) -> str:
        return self.list.refusal(self.name) if self.list is not None else ""

    @property
    def is_short(self) -> bool:
        return self.link.is_connected and self._is_short

    async def start(self) -> None:
        await self.link.start()
        self._looks = asyncio.create_task(self._look_after(), name=f"look after {self.address}")

    async def close(self) -> None:
        if self._looks is not None:
            self._looks.cancel()
            await asyncio.gather(self._looks, return_exceptions=True)
        await self.link.close()

    async def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Reply:
        gate = self._gate
        if refusal := self._refusal:
            raise CacheUnavailable(refusal)
        if not gate.may_call(_now_ms()):
            raise CacheUnavailable(f"Redis {self.address} is not called while its breaker is open: {self.link.reason}")
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
        if self._used_bytes + size > self._budget_bytes:
            return False
        self._used_bytes += size
        return True

    async def report(self) -> ServerReport:
        if not self.link.is_connected:
            return self._report(self.link.reason)
        try:
            fields = fields_of(await self.link.call(b"INFO"))
            self._note(fields)
            return msgspec.structs.replace(
                self._report(*self._warnings),
                version=fields.get("redis_version", ""),
                used_bytes=self._used_bytes,
                keys=keys_of(fields, self.address.database),
                clients=int(told(fields, "connected_clients")),
            )
        except CacheUnavailable as error:
            return self._report(in_words(error, self.address))

    @property
    def trouble(self) -> str:
        """Why its shards are not (fully) served from it, in words; "" = they are."""
        return self._full if self.link.is_connected else self.link.reason

    def _report(self, *problems: str) -> ServerReport:
        problems = (*problems, self._full) if self._full else problems
        return ServerReport(problems=problems, budget_bytes=self._budget_bytes, is_left_alone=self._gate.is_open)

    def _note_loss(self) -> None:
        """A lost connection counts as one failure, however many calls were outstanding."""
        if self._losses != self.link.losses:
            self._losses = self.link.losses
            self._gate.failed(_now_ms())

    async def _look_after(self) -> None:
        """Runs forever: checks whether the server is still fit, and how full it is."""
        trouble = self.trouble
        while True:
            self._life.tick()
            if self.link.is_connected:
                with contextlib.suppress(CacheUnavailable):
                    fields = fields_of(await self.link.call(b"INFO"))
                    self._note(fields)
                    self._run_id = await self._life.look(self.link.call, run_id_of(fields))
                    await self._keep_list(run_id_of(fields))
            if trouble != self.trouble:
                trouble = self.trouble
                _log.warning("redis_in_trouble" if trouble else "redis_in_order", server=str(self.address), why=trouble)
            await asyncio.sleep(self._look_s)

    def _note(self, fields: dict[str, str]) -> None:
        """Evaluates an INFO. Raises CacheUnavailable when the server may not be used: the link is given up, and keeps
        greeting until the server is fit again."""
        unfit = why_unfit(fields)
        if unfit:
            self.link.give_up(unfit, is_refused=True)
            raise CacheUnavailable(unfit)
        self._note_memory(fields)

    def _note_memory(self, fields: dict[str, str]) -> None:
        self._used_bytes = int(told(fields, "used_memory"))
        self._full, self._is_short = why_full(fields), is_short(fields)

    async def _keep_list(self, run_id: str) -> None:
        """Gives the link up when nodes with a newer list have appeared. Raises CacheUnavailable."""
        if self.list is None:
            return
        try:
            noted = await self.list.note(self.link.call, self.name, run_id, self._life.new_mark())
            self._is_unleft |= noted.is_unleft
        except ConnectionLost:
            raise
        except CacheUnavailable as error:
            self.link.give_up(in_words(error, self.address), is_refused=True)
            raise
        if self._is_unleft:
            count = await self.list.leave_moved(self.link.call, self.name)
            self._is_unleft = False
            _log.info("redis_servers_listed", server=self.name, moved_away=count)

    async def _greet(self, send: Send) -> None:
        """Raises CacheUnavailable when the server is unfit, so that the link is not used."""
        fields = fields_of(await send(b"INFO"))
        unfit = why_unfit(fields)
        if unfit:
            raise CacheUnavailable(unfit)
        self._note_memory(fields)
        run_id = await self._life.look(send, run_id_of(fields))
        if self.list is not None:
            noted = await self.list.note(send, self.name, run_id_of(fields), self._life.new_mark())
            self._is_unleft |= noted.is_unleft
            await asyncio.sleep(noted.wait_ms / 1_000)
            run_id = await self._life.look(send, run_id_of(fields))
        self._warnings = await disk_warnings(send)
        await _teach(send)
        self._run_id = run_id


async def _teach(send: Send) -> None:
    """Loads the scripts that the server does not know yet."""
    scripts = all_scripts()
    known = await send(b"SCRIPT", b"EXISTS", *(script.sha for script in scripts))
    for script, is_known in zip(scripts, cast("list[int]", known), strict=True):
        if not is_known:
            await send(b"SCRIPT", b"LOAD", script.text)


def _now_ms() -> float:
    return monotonic() * 1000
