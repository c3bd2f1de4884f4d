"""Commands sent to a Redis server directly, not through a link or a node."""

from __future__ import annotations

import asyncio

import redis

from tests.redis_server import RedisProcess


async def redis_says(process: RedisProcess, *words: str) -> bytes:
    """Sends a command and returns the first 4 KiB of the reply."""
    reader, writer = await asyncio.open_unix_connection(process.path)
    writer.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))
    answer = await reader.read(1 << 12)
    writer.close()
    return answer


def copy_keys(source: RedisProcess, target: RedisProcess) -> None:
    """Copies all keys, with the time each has left, as they are at one moment."""
    old, new = (redis.Redis(unix_socket_path=each.path) for each in (source, target))
    with old, new, old.pipeline(transaction=True) as reads, new.pipeline() as writes:
        names = list(old.scan_iter(count=1_000))
        for name in names:
            reads.pttl(name)
            reads.dump(name)
        replies = reads.execute()
        for name, left_ms, value in zip(names, replies[::2], replies[1::2], strict=True):
            if value is not None:
                writes.restore(name, max(0, left_ms), value)
        writes.execute()
