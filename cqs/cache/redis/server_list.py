"""Which list of servers the nodes go by: noted in each server, so that two nodes with different lists never serve one
queue from two servers.

    node A: version 1, servers x y        server x: "1 a7…"        node C: version 2, servers x y z
    ──────────────────────────────        ────────────────        ──────────────────────────────
    greets, looks each half s: 1 a7 ────► 1 a7
                                          2 c4 ◄────────────────── greets: 2 is newer, noted; waits LET_GO_MS
    looks: 2 is newer than mine ────────► gives x up, and answers no more from it
                                                                   serves; drops what lives elsewhere by its list

Without the wait A would serve a queue from x while C has it on z: what A sends C misses, what A deletes C hands out.

What lives elsewhere by a list is still to be dropped until some node of that list has done it, whoever noted the list.
Another list that is noted before that, or more than one change later, finds shards that nodes of one between may have
served elsewhere: another life of the server begins in the same step (`cqs.cache.redis.life`).

Two lists may have no server in common, or none that a node of the newer one reaches. So nodes also tell each other by
their beats (`cqs.service.membership`): one that hears of a list before its own notes that in its servers itself.

It is noted in a full server, too: there a script may write what it likes once it has begun to delete.

A node of an older list, or of another one under the same version, uses none of its servers, and says why. The note
lives as long as some node looks after it, so a cluster that starts anew may have any list.
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
"""Three looks of a node of the former list, which refuses what it still serves at the first of them."""
UNLEFT_MS = 7_200_000
"""Longer than any shard stays that nobody uses."""
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
    """What is to be done in a server where this node's list is noted."""

    is_unleft: bool
    """No node of the list has dropped there what lives elsewhere by it."""
    wait_ms: int
    """By then the nodes of the former list have let go."""


class ServerList:
    """This node's list of servers, with the version that its operators gave it. `owner` names the one that a key lives
    on, as in the ring."""

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
        """The server reached last by each name."""
        digest = blake2b("\n".join(self._names).encode(), digest_size=8).hexdigest()
        self.text = f"{version} {digest}"
        """What tells it from all others."""

    @property
    def in_use(self) -> str:
        """`text`, or "" while none of the servers may be used."""
        return "" if self._is_giving_way or self._refusals else self.text

    def refusal(self, name: str) -> str:
        """Why the server of this name may not be used, "" = it may. What one of them refuses keeps this node from all:
        where one is shared with nodes of another list, a queue on any other may be theirs, too."""
        if self._is_giving_way or name in self._untold:
            return f"Redis {name}: {self._why_refused(self._preferred)}"
        if self._elders and self._elders.get(name, "") not in ("", self.run_ids.get(name)):
            return f"Redis {name}: {_ELSEWHERE}"
        return next(iter(self._refusals.values()), "")

    def give_way(self, other: str) -> None:
        """Nodes go by the list of this `text`, and may not know any of this one's servers; "" = none does any more. It
        is noted for them in each of these, none of which is used from now on until that note has ended there."""
        if other and not self._is_giving_way:
            self._untold = set(self._names)
        self._is_giving_way = bool(other)
        self._preferred = other or self._preferred

    def keep_from(self, others: Mapping[str, str]) -> None:
        """By these names elder nodes reach the servers of these run ids: no other one may be used."""
        self._elders = others

    def doubt(self, others: Mapping[str, str]) -> None:
        """The same of younger nodes: any other one is to be connected to anew, once."""
        self._younger.update(others)

    async def note(self, send: Send, name: str, run_id: str, new_mark: str) -> Noted:
        """Notes the list in the server of this name; `new_mark` is that of another life of it. Raises CacheUnavailable
        when nodes with another list use it, or when other nodes reach another server by its name."""
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
        """What stood there, and None when it stays. For others: of lists of one version theirs goes before."""
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
        """Makes absent, in the server of this name, every shard that lives on another one: should it come back by a
        later list, it is filled anew. Returns how many. Raises CacheUnavailable; idempotent."""
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
