"""A Redis server may refuse a connection before it has read anything: protected mode, `maxclients`."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from cqs.cache.redis.connection import Address, Link, Send
from cqs.cache.redis.refusals import PROTECTED
from tests.engine import until

DENIED = b"-DENIED Redis is running in protected mode because protected mode is enabled and no password is set.\r\n"


async def reason_of(path: Path, first: bytes, *, is_early: bool) -> str:
    """What the link says of a server that sends `first` and closes. `is_early`: before the link has sent anything."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not is_early:
            await reader.read(100)
        writer.write(first)
        writer.close()

    async def greet(send: Send) -> None:
        if is_early:
            await until(lambda: link.losses > 0)
        await send(b"PING")

    server = await asyncio.start_unix_server(refuse, path)
    link = Link(Address(path=str(path)), random.Random(1), on_ready=greet, timeout_s=60)
    await link.start()
    reason = link.reason
    await link.close()
    server.close()
    return reason


@pytest.mark.parametrize("is_early", [True, False], ids=["before a command", "after one"])
async def test_the_reason_is_what_the_server_said(tmp_path: Path, is_early: bool) -> None:
    full = b"-ERR max number of clients reached\r\n"

    assert await reason_of(tmp_path / "denied.sock", DENIED, is_early=is_early) == PROTECTED
    assert await reason_of(tmp_path / "full.sock", full, is_early=is_early) == "ERR max number of clients reached"


async def test_a_reply_to_nothing_is_shown(tmp_path: Path) -> None:
    reason = await reason_of(tmp_path / "other.sock", b"+HELLO\r\n", is_early=True)

    assert reason == "sent an invalid reply: b'HELLO', unasked"
