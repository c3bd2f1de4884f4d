"""Whether a Redis server may be trusted with hot state, by what its INFO says.

a replica                     never: what it misses would be lost silently
may evict keys                never: messages would vanish one by one
older than 6.2                no: scripts need its commands
full (maxmemory)              yes: it refuses puts whole, the store has the messages, and what is there is served
writes to disk                yes, but it only costs time: what comes back has another run id, and counts as absent
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
    """The `name:value` lines of an INFO."""
    lines = cast(bytes, info).decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def told(fields: dict[str, str], name: str) -> str:
    """The field. Raises CacheUnavailable when there is none."""
    if name not in fields:
        raise CacheUnavailable(f"its INFO does not tell {name}; it is no Redis")
    return fields[name]


def run_id_of(fields: dict[str, str]) -> str:
    """New at each start of the server."""
    return told(fields, "run_id")


def why_unfit(fields: dict[str, str]) -> str:
    """Why the server may not be used, in words; "" = it may."""
    version = told(fields, "redis_version")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < VERSION_MIN:
        return f"it is Redis {version}; 6.2 or newer is needed"
    if told(fields, "role") != "master":
        return "it is a replica; what a replica misses would be lost silently"
    policy = told(fields, "maxmemory_policy")
    if told(fields, "maxmemory") != "0" and policy != "noeviction":
        return f"maxmemory-policy is {policy}, so it may throw messages away; set it to noeviction"
    return ""


def why_full(fields: dict[str, str]) -> str:
    """Why new messages are kept in the store alone, in words; "" = they are not."""
    memory_max, used = int(told(fields, "maxmemory")), int(told(fields, "used_memory"))
    if not memory_max or used < memory_max:
        return ""
    return (
        f"it is full ({used >> 20} of {memory_max >> 20} MiB): what is sent is served from the store; raise maxmemory"
    )


def is_short(fields: dict[str, str]) -> bool:
    """Whether it is full, or will be soon."""
    memory_max = int(told(fields, "maxmemory"))
    return 0 < SHORT_SHARE * memory_max <= int(told(fields, "used_memory"))


async def disk_warnings(send: Send) -> list[str]:
    """What writing to disk costs, in words."""
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
    """How many the database holds: one that holds none is not told of."""
    counted = dict(part.split("=", 1) for part in fields.get(f"db{database}", "").split(",") if "=" in part)
    return int(counted.get("keys", 0))
