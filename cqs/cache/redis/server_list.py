"""Which list of servers the nodes use: recorded in each server, so that two nodes with different lists never serve one
queue from two servers.

    node A: version 1, servers x y        server x: "1 a7…"        node C: version 2, servers x y z
    ──────────────────────────────        ────────────────        ──────────────────────────────
    greets; looks every ½ s: 1 a7 ──────► 1 a7
                                          2 c4 ◄────────────────── greets: 2 is newer, recorded; waits LET_GO_MS
    looks: 2 is newer than its own ─────► gives x up, and answers no more from it
                                                                   serves; drops shards its list places elsewhere

Without the wait, A would serve a queue from x while C already has it on z: C misses what A sends, and hands out what A
deletes.

Shards that a list places on other servers stay to be dropped until a node of that list has dropped them, no matter
which node recorded the list. If another list is recorded before that, or a list that is not the direct successor, nodes
of a list in between may have served those shards elsewhere: a new life of the server begins in the same step
(`cqs.cache.redis.life`).

Two lists may have no server in common, or none that a node of the newer one can reach. So nodes also announce their
lists in their heartbeats (`cqs.service.lists`): a node that hears of a list that takes precedence over its own
records that list in its own servers itself.

Recording works even in a full server: once a script has started with a delete, it may write.

A node with an older list, or with a different list of the same version, uses none of its servers, and says why. The
record lives as long as some node refreshes it, so a cluster that starts from scratch may use any list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, cast

from cqs.cache.redis import keys
from cqs.cache.redis.connection import Send
from cqs.cache.redis.life import KEPT_MS
from cqs.cache.redis.script import Script
from cqs.errors import CacheUnavailable

NOTE_MS = 15_000
LET_GO_MS = 1_500
"""Three looks of a node with the former list; its first look already makes it refuse the calls it still serves."""
UNLEFT_MS = 7_200_000
"""Longer than an unused shard lives."""
SCAN_COUNT = 1_000
_ELSEWHERE = "other nodes reach another server by this address: give all nodes addresses that lead to the same servers"
_NOTE = Script(
    """
local known, version, digest = redis.call('GET', KEYS[1]) or '', tonumber(ARGV[1]), ARGV[2]
local other, list = string.match(known, '^(%d+) (%x+)$')
local is_first = ARGV[8] == '0'
if other and (tonumber(other) > version or (is_first and tonumber(other) == version and list ~= digest)) then
  return { 1, known, 0, 0 }
end
local own, unleft = version .. ' ' .. digest, redis.call('GET', KEYS[4])
if known == own then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
else
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], own, 'PX', ARGV[3])
  if other then
    redis.call('SET', KEYS[2], '', 'PX', ARGV[4])
  end
  if (other and tonumber(other) < version - 1) or (unleft and unleft ~= own) then
    redis.call('SET', KEYS[3], ARGV[5], 'PX', ARGV[6])
  end
  unleft = ARGV[7] ~= '0' and own
  redis.call('DEL', KEYS[4])
  if unleft then
    redis.call('SET', KEYS[4], own, 'PX', ARGV[7])
  end
end
return { 0, known, math.max(0, redis.call('PTTL', KEYS[2])), unleft == own and 1 or 0 }
"""
)


_LEFT = Script(
    """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
"""
)


class Noted(NamedTuple):
    """What is left to do in a server in which this node's list is recorded."""

    is_unleft: bool
    """No node of this list has yet dropped the shards there that the list places elsewhere."""
    wait_ms: int
    """After this time, the nodes with the former list have let go."""


class ServerList:
    """This node's list of servers, with the version its operators gave it. `owner` returns the name of the server that
    holds a key, as in the ring."""

    def __init__(
        self, version: int, names: Sequence[str], owner: Callable[[bytes], str], let_go_ms: int = LET_GO_MS
    ) -> None:
        self._version = version
        self._names = sorted(names)
        self._owner = owner
        self._let_go_ms = let_go_ms
        self._refusals: dict[str, str] = {}
        self._preferred = ""
        self._is_giving_way = False
        self._untold: set[str] = set()
        self._elders: Mapping[str, str] = {}
        self._younger: dict[str, str] = {}
        self.run_ids: dict[str, str] = {}
        """The run id of the server last reached by each name."""
        digest = blake2b("\n".join(self._names).encode(), digest_size=8).hexdigest()
        self.text = f"{version} {digest}"
        """Identifies this list among all lists."""

    @property
    def in_use(self) -> str:
        """`text`, or "" while none of the servers may be used."""
        return "" if self._is_giving_way or self._refusals else self.text

    def refusal(self, name: str) -> str:
        """Why the named server may not be used; "" = it may. A refusal by one server bars this node from all of them:
        if one is shared with nodes of another list, a queue on any other may be theirs, too."""
        if self._is_giving_way or name in self._untold:
            return f"Redis {name}: {self._why_refused(self._preferred)}"
        if self._elders and self._elders.get(name, "") not in ("", self.run_ids.get(name)):
            return f"Redis {name}: {_ELSEWHERE}"
        return next(iter(self._refusals.values()), "")

    def give_way(self, other: str) -> None:
        """Other nodes use the list with this `text`, and may not know any of this list's servers; "" = no longer. The
        list is recorded on their behalf in each of these servers, none of which is used until that record has expired
        there."""
        if other and not self._is_giving_way:
            self._untold = set(self._names)
        self._is_giving_way = bool(other)
        self._preferred = other or self._preferred

    def keep_from(self, others: Mapping[str, str]) -> None:
        """Elder nodes reach the servers with these run ids by these names: no other server may be used."""
        self._elders = others

    def doubt(self, others: Mapping[str, str]) -> None:
        """The same for younger nodes: any other server must be reconnected, once."""
        self._younger.update(others)

    async def note(self, send: Send, name: str, run_id: str, new_mark: str) -> Noted:
        """Records the list in the named server; `new_mark` is the mark for a new life of it. Raises CacheUnavailable
        when nodes with another list use the server, or when other nodes reach another server by its name."""
        self.run_ids[name] = run_id
        if self._younger.pop(name, run_id) != run_id:
            raise CacheUnavailable(_ELSEWHERE)
        if self._elders.get(name, run_id) != run_id:
            await send(b"SET", keys.LIFE, new_mark, b"PX", KEPT_MS)
            raise CacheUnavailable(_ELSEWHERE)
        if self._is_giving_way or name in self._untold:
            await self._note(send, self._preferred, new_mark, is_for_others=True)
            self._untold.discard(name)
        known, noted = await self._note(send, self.text, new_mark)
        if noted is None:
            why = self._why_refused(known)
            self._refusals[name] = f"Redis {name}: {why}"
            raise CacheUnavailable(why)
        self._refusals.pop(name, None)
        return noted

    async def _note(
        self, send: Send, text: str, new_mark: str, *, is_for_others: bool = False
    ) -> tuple[str, Noted | None]:
        """Returns the previous record, and None if that stays. `is_for_others`: a list of the same version is
        replaced."""
        words = (keys.SERVER_LIST, keys.NEW_LIST, keys.LIFE, keys.UNLEFT)
        unleft_ms = UNLEFT_MS if is_for_others or len(self._names) > 1 else 0
        own = (*text.split(), NOTE_MS, self._let_go_ms, new_mark, KEPT_MS, unleft_ms, int(is_for_others))
        answer = await send(b"EVAL", _NOTE.text, len(words), *words, *own)
        is_refused, known, wait_ms, is_unleft = cast("tuple[int, bytes, int, int]", answer)
        return known.decode(), None if is_refused else Noted(bool(is_unleft), wait_ms)

    def _why_refused(self, other: str) -> str:
        version = int(other.split()[0])
        if version == self._version:
            return (
                f"nodes with another list of Redis servers use it, and redis_list_version is {version} in both: give "
                "all nodes one list, and raise the version whenever it changes"
            )
        return (
            f"nodes with a newer list of Redis servers use it (redis_list_version {version}, here {self._version}): "
            "give this node their list and version, and restart it"
        )

    async def leave_moved(self, send: Send, name: str) -> int:
        """Makes absent, in the named server, every shard that lives on another one: if a later list brings it back, it
        is filled again. Returns how many. Raises CacheUnavailable; idempotent."""
        count, cursor = 0, b"0"
        while len(self._names) > 1:
            answer = await send(b"SCAN", cursor, b"MATCH", b"cqs:{*}:state", b"COUNT", SCAN_COUNT)
            cursor, found = cast("tuple[bytes, list[bytes]]", answer)
            moved = [key for key in found if self._owner(key) != name]
            if moved:
                await send(b"UNLINK", *moved)
            count += len(moved)
            if cursor == b"0":
                break
        await send(b"EVAL", _LEFT.text, 1, keys.UNLEFT, self.text)
        return count
