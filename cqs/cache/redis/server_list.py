"""Which list of servers the nodes go by: noted in each server, so that two nodes with different lists never serve one
queue from two servers.

    node A: version 1, servers x y        server x: "1 a7…"        node C: version 2, servers x y z
    ──────────────────────────────        ────────────────        ──────────────────────────────
    greets, looks each second: 1 a7 ────► 1 a7
                                          2 c4 ◄────────────────── greets: 2 is newer, noted
    looks: 2 is newer than mine ────────► gives x up, and answers no more from it
                                                                   drops what lives elsewhere by its list

A node of an older list, or of another one under the same version, uses none of its servers, and says why. The note
lives as long as some node looks after it, so a cluster that starts anew may have any list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import cast

from cqs.cache.redis import keys
from cqs.cache.redis.connection import Send
from cqs.cache.redis.script import Script
from cqs.errors import CacheUnavailable

NOTE_MS = 15_000
SCAN_COUNT = 1_000
_NOTE = Script(
    """
local known, version, digest = redis.call('GET', KEYS[1]) or '', tonumber(ARGV[1]), ARGV[2]
local other, list = string.match(known, '^(%d+) (%x+)$')
if other and (tonumber(other) > version or (tonumber(other) == version and list ~= digest)) then
  return { 1, known }
end
redis.call('SET', KEYS[1], version .. ' ' .. digest, 'PX', ARGV[3])
return { 0, known }
"""
)


class ServerList:
    """This node's list of servers, with the version that its operators gave it. `owner` names the one that a key lives
    on, as in the ring."""

    def __init__(self, version: int, names: Sequence[str], owner: Callable[[bytes], str]) -> None:
        self._version = version
        self._names = sorted(names)
        self._owner = owner
        self._refusals: dict[str, str] = {}
        self._digest = blake2b("\n".join(self._names).encode(), digest_size=8).hexdigest()

    @property
    def refusal(self) -> str:
        """Why none of the servers may be used, "" = they may: where one server is shared with nodes of another list, a
        queue on any other may be theirs, too."""
        return next(iter(self._refusals.values()), "")

    async def note(self, send: Send, name: str) -> bool:
        """Notes the list in the server of this name; whether another one, or none, stood there. Raises CacheUnavailable
        when nodes with another list use it."""
        answer = await send(b"EVAL", _NOTE.text, 1, keys.SERVER_LIST, self._version, self._digest, NOTE_MS)
        is_refused, known = cast("tuple[int, bytes]", answer)
        if is_refused:
            why = self._why_refused(int(known.decode().split()[0]))
            self._refusals[name] = f"Redis {name}: {why}"
            raise CacheUnavailable(why)
        self._refusals.pop(name, None)
        return known.decode() != f"{self._version} {self._digest}"

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
