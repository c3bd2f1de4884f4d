"""Which list of servers the nodes go by: noted in each server, so that two nodes with different lists never serve one
queue from two servers.

    node A: version 1, servers x y        server x: "1 a7…"        node C: version 2, servers x y z
    ──────────────────────────────        ────────────────        ──────────────────────────────
    greets, looks each half s: 1 a7 ────► 1 a7
                                          2 c4 ◄────────────────── greets: 2 is newer, noted; waits LET_GO_MS
    looks: 2 is newer than mine ────────► gives x up, and answers no more from it
                                                                   serves; drops what lives elsewhere by its list

Without the wait A would serve a queue from x while C has it on z: what A sends C misses, what A deletes C hands out.

Where more than one change lies between two lists, nodes of one between may have served the server's shards elsewhere:
another life of it begins in the same step (`cqs.cache.redis.life`).

It is noted in a full server, too: there a script may write what it likes once it has begun to delete.

A node of an older list, or of another one under the same version, uses none of its servers, and says why. The note
lives as long as some node looks after it, so a cluster that starts anew may have any list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
SCAN_COUNT = 1_000
_NOTE = Script(
    """
local known, version, digest = redis.call('GET', KEYS[1]) or '', tonumber(ARGV[1]), ARGV[2]
local other, list = string.match(known, '^(%d+) (%x+)$')
if other and (tonumber(other) > version or (tonumber(other) == version and list ~= digest)) then
  return { 1, known, 0 }
end
if other and list == digest and tonumber(other) == version then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
else
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], version .. ' ' .. digest, 'PX', ARGV[3])
  if other then
    redis.call('SET', KEYS[2], '', 'PX', ARGV[4])
  end
  if other and tonumber(other) < version - 1 then
    redis.call('SET', KEYS[3], ARGV[5], 'PX', ARGV[6])
  end
end
return { 0, known, math.max(0, redis.call('PTTL', KEYS[2])) }
"""
)


class Noted(NamedTuple):
    """What stood in a server when this node's list was noted there."""

    is_new: bool
    """Another list, or none."""
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
        self._digest = blake2b("\n".join(self._names).encode(), digest_size=8).hexdigest()

    @property
    def refusal(self) -> str:
        """Why none of the servers may be used, "" = they may: where one server is shared with nodes of another list, a
        queue on any other may be theirs, too."""
        return next(iter(self._refusals.values()), "")

    async def note(self, send: Send, name: str, new_mark: str) -> Noted:
        """Notes the list in the server of this name; `new_mark` is that of another life of it. Raises CacheUnavailable
        when nodes with another list use it."""
        words = (keys.SERVER_LIST, keys.NEW_LIST, keys.LIFE)
        own = (self._version, self._digest, NOTE_MS, self._let_go_ms, new_mark, KEPT_MS)
        answer = await send(b"EVAL", _NOTE.text, len(words), *words, *own)
        is_refused, known, wait_ms = cast("tuple[int, bytes, int]", answer)
        if is_refused:
            why = self._why_refused(int(known.decode().split()[0]))
            self._refusals[name] = f"Redis {name}: {why}"
            raise CacheUnavailable(why)
        self._refusals.pop(name, None)
        return Noted(known.decode() != f"{self._version} {self._digest}", wait_ms)

    def _why_refused(self, version: int) -> str:
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
        return count
