"""Nodes with different lists of Redis servers never serve the same queue from two servers."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import redis

from cqs.cache.interface import Residency, Shard
from cqs.cache.redis.cache import RedisCache
from cqs.cache.redis.fitness import fields_of, run_id_of
from cqs.cache.redis.server import RedisServer
from cqs.cache.redis.server_list import ServerList
from cqs.cluster.ring import Ring
from cqs.errors import CacheUnavailable
from tests.needs import needs
from tests.redis_server import RedisProcess, server_at

pytestmark = needs("redis-server")
SHARDS = [Shard(1 << 60 | number) for number in range(40)]


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


def list_of(processes: list[RedisProcess], version: int, let_go_ms: int = 1) -> ServerList:
    names = [process.path for process in processes]
    return ServerList(version, names, Ring(dict.fromkeys(names, 1.0)).owner, let_go_ms)


async def node(
    stack: AsyncExitStack, processes: list[RedisProcess], version: int, listed: ServerList | None = None
) -> RedisCache:
    """A node that has these servers in its list."""
    servers = {process.path: server_at(process) for process in processes}
    owner = Ring(dict.fromkeys(servers, 1.0)).owner
    listed = listed or list_of(processes, version)
    for name, server in servers.items():
        server.name, server.list = name, listed
    cache = RedisCache(servers, owner, random.Random(version))
    await cache.start()
    stack.push_async_callback(cache.close)
    return cache


async def fill(cache: RedisCache) -> None:
    for shard in SHARDS:
        epoch = await cache.begin_fill(shard, 60_000)
        assert epoch is not None
        await cache.fill(shard, epoch, [], is_last=True)


async def look(cache: RedisCache) -> None:
    """Runs the check that each node does in the background every LOOK_S."""
    for server in {id(cache.server_of(shard)): cache.server_of(shard) for shard in SHARDS}.values():
        await server._keep_list(await run_id_at(server))  # type: ignore[arg-type,attr-defined]


async def run_id_at(server: RedisServer) -> str:
    return run_id_of(fields_of(await server.link.call(b"INFO")))


async def problems(cache: RedisCache) -> dict[str, tuple[str, ...]]:
    """Returns the problems of each server that /ready shows."""
    return {name: tuple(report.problems) for name, report in (await cache.servers.reports()).items()}


async def test_nodes_of_one_list_share_their_servers(stack: AsyncExitStack, processes: list[RedisProcess]) -> None:
    first = await node(stack, processes, 1)
    await fill(first)
    second = await node(stack, processes[::-1], 1)

    assert {(await second.state(shard)).residency for shard in SHARDS} == {Residency.READY}


async def test_another_list_of_the_same_version_is_refused(
    stack: AsyncExitStack, processes: list[RedisProcess]
) -> None:
    first = await node(stack, processes[:1], 1)
    second = await node(stack, processes, 1)

    for shard in SHARDS:
        with pytest.raises(CacheUnavailable, match="redis_list_version is 1 in both: give all nodes one list"):
            await second.state(shard)
    assert await problems(second) == {
        processes[0].path: (
            "nodes with another list of Redis servers use it, and redis_list_version is 1 in both: give "
            "all nodes one list, and raise the version whenever it changes",
        ),
        processes[1].path: (),
    }
    await first.state(SHARDS[0])


async def test_a_newer_list_makes_nodes_of_the_older_one_let_go_and_only_what_moved_is_absent(
    stack: AsyncExitStack, processes: list[RedisProcess]
) -> None:
    old = await node(stack, processes[:1], 1)
    await fill(old)
    new = await node(stack, processes, 2)
    await look(new)

    with pytest.raises(CacheUnavailable, match="redis_list_version 2, here 1"):
        await look(old)
    with pytest.raises(CacheUnavailable):
        await old.state(SHARDS[0])
    assert await problems(old) == {
        processes[0].path: (
            "nodes with a newer list of Redis servers use it (redis_list_version 2, here 1): give this "
            "node their list and version, and restart it",
        )
    }
    moved = [shard for shard in SHARDS if new.servers.name_of(shard) == processes[1].path]
    assert 5 < len(moved) < 35
    for shard in SHARDS:
        expected = Residency.ABSENT if shard in moved else Residency.READY
        assert (await new.state(shard)).residency is expected


async def test_what_moved_away_and_back_is_filled_anew(stack: AsyncExitStack, processes: list[RedisProcess]) -> None:
    await fill(await node(stack, processes[:1], 1))
    both = await node(stack, processes, 2)
    await look(both)
    moved = [shard for shard in SHARDS if both.servers.name_of(shard) == processes[1].path]

    again = await node(stack, processes[:1], 3)

    assert {(await again.state(shard)).residency for shard in moved} == {Residency.ABSENT}


async def note_and_die(cache: RedisCache, process: RedisProcess, listed: ServerList) -> None:
    """A node records its list in the server and then does nothing more."""
    server = next(one for one in map(cache.server_of, SHARDS) if one.name == process.path)  # type: ignore[attr-defined]
    await listed.note(server.link.call, process.path, "1", "0")  # type: ignore[attr-defined]


async def test_what_moved_away_is_given_up_by_the_next_node_when_the_first_one_died(
    stack: AsyncExitStack, processes: list[RedisProcess]
) -> None:
    first = await node(stack, processes[:1], 1)
    await fill(first)
    await note_and_die(first, processes[0], list_of(processes, 2))

    both = await node(stack, processes, 2)
    await look(both)
    again = await node(stack, processes[:1], 3)

    moved = [shard for shard in SHARDS if both.servers.name_of(shard) == processes[1].path]
    assert {(await again.state(shard)).residency for shard in moved} == {Residency.ABSENT}


async def test_a_list_noted_before_what_had_moved_away_was_given_up_finds_nothing(
    stack: AsyncExitStack, processes: list[RedisProcess]
) -> None:
    first = await node(stack, processes[:1], 1)
    await fill(first)
    await note_and_die(first, processes[0], list_of(processes, 2))

    again = await node(stack, processes[:1], 3)

    assert {(await again.state(shard)).residency for shard in SHARDS} == {Residency.ABSENT}


async def test_a_node_gives_way_to_a_newer_list_that_has_none_of_its_servers(
    stack: AsyncExitStack, processes: list[RedisProcess]
) -> None:
    listed, others = list_of(processes[:1], 1), list_of(processes[1:], 2)
    old = await node(stack, processes[:1], 1, listed)
    await fill(old)

    listed.give_way(others.text)

    assert listed.in_use == ""
    assert old.servers.lost() == [processes[0].path]
    with pytest.raises(CacheUnavailable, match="redis_list_version 2, here 1"):
        await old.state(SHARDS[0])
    with pytest.raises(CacheUnavailable, match="redis_list_version 2, here 1"):
        await look(old)
    listed.give_way("")
    with pytest.raises(CacheUnavailable, match="redis_list_version 2, here 1"):
        await old.state(SHARDS[0])


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("version", [1, 2])
async def test_what_a_node_gave_up_is_filled_anew_when_it_may_use_it_again(
    stack: AsyncExitStack, processes: list[RedisProcess], version: int, is_told: bool
) -> None:
    """`is_told`: it had recorded that while nodes with the other list existed."""
    listed = list_of(processes[:1], 1)
    old = await node(stack, processes[:1], 1, listed)
    await fill(old)
    listed.give_way(list_of(processes[1:], version).text)
    if not is_told:
        listed.give_way("")
        with pytest.raises(CacheUnavailable):
            await old.state(SHARDS[0])
    with pytest.raises(CacheUnavailable):
        await look(old)
    listed.give_way("")
    with redis.Redis(unix_socket_path=processes[0].path) as admin:
        admin.delete("cqs:servers")

    server = old.server_of(SHARDS[0])
    while not await server.regained():
        pass

    assert listed.in_use == listed.text
    assert {(await old.state(shard)).residency for shard in SHARDS} == {Residency.ABSENT}
