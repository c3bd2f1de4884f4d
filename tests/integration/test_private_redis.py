"""The private Redis of a server (`--redis spawn`), as a process."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import redis

from cqs import spawn
from cqs.cache.redis.url import parse
from cqs.errors import CannotStart
from cqs.spawn import PrivateRedis
from tests.needs import needs

pytestmark = needs("redis-server")

PATIENCE_S = 90


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateRedis]:
    monkeypatch.setattr(spawn, "RESTART_S", 0.0)
    private = PrivateRedis()
    yield private
    private.stop()


async def until(condition: Callable[[], bool], meanwhile: Callable[[], None] = lambda: None) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            meanwhile()
            await asyncio.sleep(0.01)


def is_answering(private: PrivateRedis) -> bool:
    try:
        with redis.Redis(unix_socket_path=private.url.removeprefix("unix://")) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


async def test_one_that_was_killed_is_started_again_at_the_same_place(private: PrivateRedis) -> None:
    killed = private.pid
    private.watched()

    os.kill(killed, signal.SIGKILL)
    await until(lambda: private.pid != killed and is_answering(private))


async def test_one_that_can_not_be_started_for_want_of_memory_is_started_later(
    private: PrivateRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, refused = private.pid, []

    def without_memory(*_: object, **__: object) -> None:
        refused.append(1)
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    os.kill(killed, signal.SIGKILL)
    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", without_memory)
        await until(lambda: bool(refused), private.look_after)
        with pytest.raises(CannotStart, match=r"can't be started: .* Cannot allocate memory"):
            PrivateRedis()

    await until(lambda: private.pid != killed and is_answering(private), private.look_after)


async def test_one_that_runs_is_left_alone(private: PrivateRedis) -> None:
    first = private.pid

    private.look_after()

    assert private.pid == first


async def test_one_that_was_stopped_stays_so(private: PrivateRedis) -> None:
    private.stop()

    private.look_after()

    assert not is_answering(private)


async def test_it_can_be_told_to_end_though_its_parent_blocks_the_signals(private: PrivateRedis) -> None:
    killed = private.pid
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        os.kill(killed, signal.SIGKILL)
        await until(lambda: private.pid != killed, private.look_after)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    os.kill(private.pid, signal.SIGTERM)

    await until(lambda: not is_answering(private))


@pytest.mark.parametrize(
    ("settings", "told"),
    [(["--journal", "full"], "journal:"), (["--redis", "rediss://host", "--redis-ca", "/nowhere"], "/nowhere")],
)
def test_a_server_that_is_refused_leaves_nothing_of_it(settings: list[str], told: str) -> None:
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cqs", "serve", "--in-memory", "--port", "0", "--redis", "spawn", *settings]
        done = subprocess.run(command, env=os.environ | {"TMPDIR": folder}, capture_output=True, text=True, check=False)

        assert done.returncode == 2
        assert told in done.stderr
        assert list(Path(folder).iterdir()) == []


def test_its_address_leads_to_it_whatever_the_folder_of_temporary_files_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with TemporaryDirectory(prefix="a%20b #?ü") as folder:
        monkeypatch.setattr("tempfile.tempdir", folder)
        private = PrivateRedis()
        try:
            assert Path(parse(private.url).path).is_socket()
        finally:
            private.stop()
        assert list(Path(folder).iterdir()) == []
