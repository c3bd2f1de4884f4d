"""Identifies the life of a Redis server that a shard belongs to. A shard of another life is absent.

    address ──► R1 ──────────► R2, its replica ──────────► R1, which kept running
    shards      ready          another run id: absent      as they were: deleted messages present, new ones missing

A run id reveals a restart, but not that the nodes used another server in between. So each server stores a mark, which
expires after KEPT_MS unless a node refreshes it. A node that has seen no other run id since may restore the mark it
knows: then either all nodes were cut off, or everything was flushed. A new mark is made by a node that knows none
although there are shards, by a node that returns to a run id it had left, and when a list of servers is recorded that
is not the direct successor of the one before. A node that was suspended has seen nothing meanwhile, so it does not
restore a mark, and trusts a stored one only if other nodes kept refreshing it:

    R1 ──────────► R2 ──────────► R1, its mark not refreshed for more than SEEN_MS: new mark
    A  suspended ────────────────► resumes before B is back
    B  served ───► served ───────────────────────────► is back

A life is a run id plus a mark. As long as a server has never been out of sight it is the run id alone, as older nodes
compute it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from hashlib import blake2b
from time import monotonic
from typing import cast

from cqs.cache.redis import keys
from cqs.cache.redis.connection import Send
from cqs.cache.redis.fitness import RUN_ID_LENGTH
from cqs.cache.redis.script import Script

KEPT_MS = 20_000
"""Longer than the list of servers is recorded: if that exists without a mark, only older nodes have refreshed it."""
STILL_S = 5.0
"""A node whose ticks are further apart was suspended."""
SEEN_MS = 2_000
"""Four looks of a node that is not suspended."""
LEFT_MAX = 16
_UNMARKED = "-"
_LOOK = Script(
    """
local known = redis.call('GET', KEYS[1])
local mark = known
if known and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then
  mark = ARGV[1]
end
if not mark and (redis.call('EXISTS', KEYS[2]) == 1 or redis.call('DBSIZE') == 0) then
  mark = '-'
end
if not mark or mark == ARGV[2] then
  mark = ARGV[1]
end
if mark == known then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
else
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], mark, 'PX', ARGV[3])
end
return mark
"""
)


class Life:
    """The life of one server, as one node knows it."""

    def __init__(self, rng: random.Random, now_s: Callable[[], float] = monotonic) -> None:
        self._rng = rng
        self._now_s = now_s
        self._ticked_s = now_s()
        self._has_stood_still = False
        self._run_id, self._mark = "", _UNMARKED
        self._left: dict[str, str] = {}
        """The marks of the run ids this node has left for others."""

    def new_mark(self) -> str:
        return f"{self._rng.getrandbits(64):016x}"

    def tick(self) -> None:
        """Must be called several times per STILL_S, whether or not the server is reachable."""
        now_s = self._now_s()
        self._has_stood_still |= now_s - self._ticked_s >= STILL_S
        self._ticked_s = now_s

    async def look(self, send: Send, run_id: str) -> bytes:
        """The name of the current life of the server with this run id, from now on the same for all nodes that look.
        Raises CacheUnavailable."""
        self.tick()
        left = self._left.get(run_id, "") if run_id != self._run_id else ""
        is_doubtful = self._has_stood_still
        mark = self._mark if run_id == self._run_id and not is_doubtful else self.new_mark()
        ttl_min = KEPT_MS - SEEN_MS if is_doubtful else 0
        words = (keys.LIFE, keys.SERVER_LIST, mark, left, KEPT_MS, ttl_min)
        answer = await send(b"EVAL", _LOOK.text, 2, *words)
        self._has_stood_still &= not is_doubtful
        if self._run_id and run_id != self._run_id:
            self._leave()
        self._run_id, self._mark = run_id, cast(bytes, answer).decode()
        self._left.pop(run_id, None)
        if self._mark == _UNMARKED:
            return run_id[:RUN_ID_LENGTH].encode()
        return blake2b(f"{run_id} {self._mark}".encode(), digest_size=RUN_ID_LENGTH // 2).hexdigest().encode()

    def _leave(self) -> None:
        self._left[self._run_id] = self._mark
        if len(self._left) > LEFT_MAX:
            del self._left[next(iter(self._left))]
