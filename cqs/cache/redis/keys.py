"""All Redis keys, in one place. `scripts/common.lua`, `fifo.lua` and `fair.lua` describe their contents.

    cqs:{<storage id, base 36>:<number>}:<name>     one shard; the braces put all its keys in one hash slot
    cqs:vesting   cqs:number   cqs:servers   cqs:life   one of each per server; cqs:servers:new and cqs:servers:unleft
                                                        after the list of servers changed

Scripts get the shard's `state` key and derive the others from it. Redis Cluster is out of scope: the vesting index is
one key for all shards of a server. Every key has an expiry.
"""

from __future__ import annotations

from cqs.cache.interface import Shard

SHARD_KEYS = (
    "state", "meta", "body", "hidden", "due", "tomb", "replays", "replayed",
    "list", "late",
    "fifo", "locks", "busy", "groups", "ages",
    "tenants", "parked", "noisy", "ears",
)  # fmt: skip
"""Names of a shard's keys, except `attempt:<request id>`, which holds the answer of a take with a request id."""
VESTING = b"cqs:vesting"
NUMBER = b"cqs:number"
SERVER_LIST, NEW_LIST, UNLEFT = b"cqs:servers", b"cqs:servers:new", b"cqs:servers:unleft"
LIFE = b"cqs:life"
SERVER_KEYS = (VESTING, NUMBER, SERVER_LIST, NEW_LIST, UNLEFT, LIFE)
"""One of each per server."""
NEWS = b"cqs:news"
"""Channel that every node hears: `filled <shard>`, `ended <queue uid>`."""
WAKE = b"cqs:wake:"
"""Prefix of a node's own channel, followed by the node's name: `<shard> <count>`."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_STANDARD, _FIFO = b"s", b"f"


def state_key(shard: Shard) -> bytes:
    """The first key of every script that works on a shard."""
    return b"cqs:{%b}:state" % _tag(shard)


def kind(shard: Shard) -> bytes:
    """How scripts distinguish the kinds of shards."""
    return _FIFO if shard.is_fifo else _STANDARD


def vesting_name(shard: Shard) -> bytes:
    """The shard's member of the vesting index."""
    return b"%b:%b" % (_tag(shard), kind(shard))


def shard_of(name: bytes) -> Shard:
    """The shard with this name in the vesting index."""
    storage_id, number, letter = name.split(b":")
    return Shard(int(storage_id, 36), letter == _FIFO, int(number))


def _tag(shard: Shard) -> bytes:
    return f"{_base_36(shard.storage_id)}:{shard.number}".encode()


def _base_36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
