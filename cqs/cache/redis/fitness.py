"""Whether a Redis server can be trusted with hot state, judged by its INFO.

a replica                     never: what it has not replicated would be lost silently
may evict keys                never: messages would vanish one by one
older than 6.2                no: scripts need its commands
full (maxmemory)              yes: it refuses whole puts, the store has those messages, and existing ones are served
writes to disk                yes, but it wastes time: data it restores has another run id, and counts as absent
"""

from __future__ import annotations

from typing import cast

from cqs.cache.redis.connection import Send
from cqs.cache.redis.replies import Refused, Reply
from cqs.errors import CacheUnavailable

VERSION_MIN = (6, 2)
RUN_ID_LENGTH = 16
SHORT_SHARE = 0.97


def fields_of(info: Reply) -> dict[str, str]:
    """The `name:value` lines of an INFO reply."""
    lines = cast(bytes, info).decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def told(fields: dict[str, str], name: str) -> str:
    """The value of a field. Raises CacheUnavailable when the field is missing."""
    if name not in fields:
        raise CacheUnavailable(f"its INFO has no {name}; it is not a Redis server")
    return fields[name]


def run_id_of(fields: dict[str, str]) -> str:
    """The server's run id, new each time it starts."""
    return told(fields, "run_id")


def why_unfit(fields: dict[str, str]) -> str:
    """Why the server may not be used, in words; "" = it may be used."""
    version = told(fields, "redis_version")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < VERSION_MIN:
        return f"it is Redis {version}; 6.2 or newer is needed"
    if told(fields, "role") != "master":
        return "it is a replica; writes not yet replicated would be lost silently"
    policy = told(fields, "maxmemory_policy")
    if told(fields, "maxmemory") != "0" and policy != "noeviction":
        return f"maxmemory-policy is {policy}, so it may evict messages; set it to noeviction"
    return ""


def why_full(fields: dict[str, str]) -> str:
    """Why new messages are kept only in the store, in words; "" = the cache takes them."""
    memory_max, used = int(told(fields, "maxmemory")), int(told(fields, "used_memory"))
    if not memory_max or used < memory_max:
        return ""
    return (
        f"it is full ({used >> 20} of {memory_max >> 20} MiB): new messages are served from the store; raise maxmemory"
    )


def is_short(fields: dict[str, str]) -> bool:
    """Whether the server is full, or will be soon."""
    memory_max = int(told(fields, "maxmemory"))
    return 0 < SHORT_SHARE * memory_max <= int(told(fields, "used_memory"))


async def disk_warnings(send: Send) -> list[str]:
    """Warnings about the cost of writing to disk, in words."""
    try:
        settings = [await send(b"CONFIG", b"GET", name) for name in (b"save", b"appendonly")]
    except Refused as error:
        return [f"its settings can't be read ({error}); it should not write to disk"]
    save, append_only = [cast("list[bytes]", setting)[1] for setting in settings]
    found = ['it saves to disk, which only costs time; set save ""'] if save else []
    if append_only == b"yes":
        found.append("it writes an append-only file, which only costs time; set appendonly no")
    return found


def keys_of(fields: dict[str, str], database: int) -> int:
    """How many keys the database holds; INFO leaves out empty databases."""
    counted = dict(part.split("=", 1) for part in fields.get(f"db{database}", "").split(",") if "=" in part)
    return int(counted.get("keys", 0))
