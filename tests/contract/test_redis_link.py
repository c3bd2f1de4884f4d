"""The pipelined link to one Redis: whatever happens to calls and connections, each call gets exactly its own answer."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest
import redis

from cqs.api.http.drive import Drive
from cqs.cache.redis.connection import PENDING_MAX, Address, Link
from cqs.cache.redis.replies import ConnectionLost, Refused, Reply
from cqs.cache.redis.script import Script
from cqs.errors import CacheUnavailable
from tests.engine import until
from tests.needs import needs
from tests.proxy import Proxy
from tests.redis_server import RedisProcess
from tests.tls import certificate

pytestmark = needs("redis-server")


def link_to(address: Address, timeout_s: float = 60) -> Link:
    return Link(address, random.Random(1), timeout_s=timeout_s)


@pytest.fixture
async def proxy(redis_process: RedisProcess) -> AsyncIterator[Proxy]:
    async with Proxy(redis_process.path) as proxy:
        yield proxy


@pytest.fixture
async def link(proxy: Proxy) -> AsyncIterator[Link]:
    link = link_to(Address(path=proxy.path))
    await link.start()
    await link.call(b"PING")
    yield link
    await link.close()


async def echoes(link: Link, *words: bytes) -> list[Reply]:
    return await asyncio.gather(*(link.call(b"ECHO", word) for word in words))


class TestAnswers:
    async def test_each_caller_gets_its_own_answer(self, link: Link) -> None:
        words = [b"%d" % number for number in range(1_000)]

        assert await echoes(link, *words) == words

    async def test_calls_of_one_turn_go_out_together(self, link: Link, proxy: Proxy) -> None:
        before = proxy.requests

        await echoes(link, *[b"word"] * 100)

        assert proxy.requests == before + 1

    async def test_cancelled_caller_does_not_shift_answers(self, link: Link, proxy: Proxy) -> None:
        proxy.hold()
        cancelled, other = link.call(b"ECHO", b"cancelled"), link.call(b"ECHO", b"other")

        cancelled.cancel()
        proxy.release()

        assert await other == b"other"
        assert await echoes(link, b"later") == [b"later"]

    async def test_error_is_of_its_call_alone(self, link: Link) -> None:
        bad, good = link.call(b"NOSUCHCOMMAND"), link.call(b"ECHO", b"good")

        with pytest.raises(Refused, match="unknown command"):
            await bad
        assert await good == b"good"

    async def test_binary_and_large_words_come_back_unchanged(self, link: Link) -> None:
        words = [b"", b"\0\r\n\xff", bytes(range(256)) * 8_000]

        assert await echoes(link, *words) == words

    async def test_no_more_calls_wait_than_a_bound(self, link: Link, proxy: Proxy) -> None:
        proxy.hold()
        calls = [link.call(b"PING") for _ in range(PENDING_MAX)]

        with pytest.raises(CacheUnavailable, match="is behind"):
            link.call(b"PING")

        proxy.release()
        assert set(await asyncio.gather(*calls)) == {b"PONG"}


class TestScripts:
    SCRIPT = Script("return ARGV[1]")

    async def test_script_is_sent_once(self, link: Link) -> None:
        assert await link.run(self.SCRIPT, [], [b"one"]) == b"one"
        assert await link.run(self.SCRIPT, [], [b"two"]) == b"two"
        assert await link.call(b"SCRIPT", b"EXISTS", self.SCRIPT.sha) == [1]

    async def test_flushed_scripts_are_sent_again(self, link: Link) -> None:
        await link.run(self.SCRIPT, [], [b"one"])
        await link.call(b"SCRIPT", b"FLUSH")

        assert await link.run(self.SCRIPT, [], [b"two"]) == b"two"


class TestLosses:
    async def test_lost_connection_fails_what_is_outstanding_and_comes_back(self, link: Link, proxy: Proxy) -> None:
        proxy.hold()
        calls = [link.call(b"PING") for _ in range(3)]
        await asyncio.sleep(0)

        proxy.cut()

        for call in calls:
            with pytest.raises(ConnectionLost):
                await call
        proxy.release()
        assert await link.connected(60)
        assert await echoes(link, b"again") == [b"again"]

    async def test_a_request_that_runs_without_a_task_can_wait_for_the_connection(self, link: Link) -> None:
        heard: list[bool] = []

        async def request() -> None:
            heard.append(await link.connected(60))
            heard.append(await link.connected(0))

        link.give_up("cut by the test")
        Drive(request(), asyncio.get_running_loop()).step()
        assert heard == []
        await until(lambda: len(heard) == 2)

        assert heard == [True, True]

    async def test_late_answer_fails_everything_outstanding(self, proxy: Proxy) -> None:
        link = link_to(Address(path=proxy.path), timeout_s=0.1)
        await link.start()
        assert await link.connected(60)

        proxy.hold()
        answers = await asyncio.gather(*(link.call(b"ECHO", b"late") for _ in range(3)), return_exceptions=True)
        assert [str(answer) for answer in answers] == [f"Redis {proxy.path}: no answer for 0.1 s"] * 3
        link._timeout_s = 60
        proxy.release()
        assert await link.connected(60)
        assert await echoes(link, b"new") == [b"new"]
        await link.close()

    async def test_call_without_a_connection_fails_at_once_and_says_why(self, link: Link, proxy: Proxy) -> None:
        await proxy.stop()

        with pytest.raises(CacheUnavailable, match="can't be reached"):
            link.call(b"PING")

        await proxy.listen()
        assert await link.connected(60)

    async def test_start_returns_when_nobody_is_there(self, tmp_path: object) -> None:
        link = link_to(Address(path=f"{tmp_path}/nobody.sock"))
        await link.start()

        with pytest.raises(CacheUnavailable, match="No such file"):
            link.call(b"PING")
        assert not await link.connected(0)
        await link.close()

    async def test_nonsense_ends_the_connection(self, tmp_path: object) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await reader.read()
            writer.close()

        path = f"{tmp_path}/other.sock"
        server = await asyncio.start_unix_server(answer, path)
        link = link_to(Address(path=path))
        await link.start()

        with pytest.raises(CacheUnavailable, match="sent an invalid reply"):
            await link.call(b"PING")

        await link.close()
        server.close()
        await server.wait_closed()

    async def test_closing_fails_what_is_outstanding(self, link: Link, proxy: Proxy) -> None:
        proxy.hold()
        call = link.call(b"PING")

        await link.close()
        await link.close()

        with pytest.raises(ConnectionLost, match="closed"):
            await call
        with pytest.raises(CacheUnavailable, match="closed"):
            link.call(b"PING")


class TestDoors:
    """Passwords, databases, TLS."""

    @pytest.fixture
    async def guarded(self) -> AsyncIterator[RedisProcess]:
        with RedisProcess("--requirepass", "opensesame") as process:
            with redis.Redis(unix_socket_path=process.path, password="opensesame") as admin:
                admin.acl_setuser("cqs", enabled=True, passwords=["+sesame"], keys=["*"], commands=["+@all"])
            yield process

    @pytest.mark.parametrize(("username", "password"), [("", "opensesame"), ("cqs", "sesame")])
    async def test_right_password_opens(self, guarded: RedisProcess, username: str, password: str) -> None:
        link = link_to(Address(path=guarded.path, username=username, password=password))
        await link.start()

        assert await link.call(b"PING") == b"PONG"
        await link.close()

    async def test_wrong_password_is_told_in_words(self, guarded: RedisProcess) -> None:
        link = link_to(Address(path=guarded.path, password="wrong"))
        await link.start()

        with pytest.raises(CacheUnavailable, match="the user or password is wrong") as caught:
            link.call(b"PING")
        assert "sesame" not in str(caught.value)
        await link.close()

    async def test_databases_are_apart(self, redis_process: RedisProcess) -> None:
        links = [link_to(Address(path=redis_process.path, database=database)) for database in (3, 4)]
        await asyncio.gather(*(link.start() for link in links))

        await links[0].call(b"SET", b"cqs:number", b"1", b"PX", 1_000)

        assert await links[1].call(b"GET", b"cqs:number") is None
        await links[0].call(b"FLUSHDB")
        await asyncio.gather(*(link.close() for link in links))

    async def test_tls_checks_the_certificate(self, redis_process: RedisProcess, tmp_path: object) -> None:
        ours, theirs = certificate(f"{tmp_path}/ours"), certificate(f"{tmp_path}/theirs")
        async with Proxy(redis_process.path, tls=ours.server) as proxy:
            trusting = link_to(Address(port=proxy.port, tls=ours.client))
            distrusting = link_to(Address(port=proxy.port, tls=theirs.client))
            await asyncio.gather(trusting.start(), distrusting.start())

            assert await trusting.call(b"PING") == b"PONG"
            with pytest.raises(CacheUnavailable, match="certificate verify failed"):
                distrusting.call(b"PING")
            await asyncio.gather(trusting.close(), distrusting.close())
