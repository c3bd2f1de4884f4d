"""How long a shard stays in Redis: all its keys have the same expiry, which each use extends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import cast

import pytest
import redis

from cqs.cache.entry import State
from cqs.cache.interface import TOMBSTONE_MS, Residency, Shard
from cqs.cache.redis import cache as redis_cache
from cqs.testing.clock import ManualClock
from tests import needs
from tests.contract.cache_bench import RETENTION_MS, CacheBench, of
from tests.contract.redis_world import bench_on, cache_on
from tests.redis_server import RedisProcess, server_at

pytestmark = needs.needs("redis-server")

KEEP_MS = 1_000_000
AFTER_STATE_MS = 1_000
FILL_LEASE_MS = 240_000
"""Longer than in production: the filler may be slow."""
SLACK_MS = 100_000
"""The time that may pass between two commands of a test on a busy machine; less than what a test takes from a TTL."""


@pytest.fixture
def admin(redis_process: RedisProcess) -> Iterator[redis.Redis]:
    with redis.Redis(unix_socket_path=redis_process.path, decode_responses=True) as admin:
        yield admin
        admin.flushall()


@pytest.fixture(params=[Shard(1), Shard(2, is_fifo=True)], ids=["standard", "fifo"])
async def absent(
    redis_process: RedisProcess, admin: redis.Redis, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[CacheBench]:
    monkeypatch.setattr(redis_cache, "FILL_LEASE_MS", FILL_LEASE_MS)
    clock = ManualClock()
    async with cache_on(server_at(redis_process), clock=clock, keep_ms=KEEP_MS) as cache:
        yield bench_on(cache, clock, request.param)


@pytest.fixture
async def bench(absent: CacheBench) -> CacheBench:
    await absent.open()
    return absent


def keys_of(admin: redis.Redis) -> list[str]:
    """Returns the keys of the shard."""
    return cast("list[str]", admin.keys("cqs:{*"))


def left_ms(admin: redis.Redis) -> dict[str, int]:
    """Returns the TTL of each key of the shard."""
    return {key: admin.pttl(key) for key in keys_of(admin)}


def ends_ms(admin: redis.Redis) -> dict[str, int]:
    """Returns the expiry of each key of the shard, in ms since the Unix epoch."""
    if admin.info()["redis_version"] < "7":
        needs.absent("needs PEXPIRETIME, of Redis 7", "apt-get install redis-server")
    return {key: admin.pexpiretime(key) for key in keys_of(admin)}


def is_about(actual_ms: int, expected_ms: int) -> bool:
    return expected_ms - SLACK_MS <= actual_ms <= expected_ms + AFTER_STATE_MS


async def use(bench: CacheBench) -> None:
    """Makes calls that create, empty and recreate every kind of key, except those of tenants."""
    await bench.put(1, 2, 3)
    await bench.put(4, delay_ms=1_000)
    taken = (await bench.take(3)).received
    await bench.hide(taken[0], 0)
    await bench.fence(taken[1])
    await bench.cache.give_back(bench.shard, [taken[2].ticket])
    await bench.remove(1, 2, 3)
    await bench.put(5, 6)
    await bench.take(request_id="attempt")


def assert_all_end_together(admin: redis.Redis) -> None:
    """Checks that the state expires first, with a margin larger than the time a script took. The clock of the test
    stands still, so a key that is made later expires as much later."""
    ends = {key.rpartition(":")[2]: end for key, end in ends_ms(admin).items() if ":attempt:" not in key}
    state = ends.pop("state")
    now_s, now_us = admin.time()
    latest_ms = now_s * 1_000 + now_us // 1_000 + KEEP_MS + AFTER_STATE_MS
    assert all(state + 500 < end <= latest_ms for end in ends.values()), (state, ends, latest_ms)


async def test_all_keys_of_a_shard_expire_together(bench: CacheBench, admin: redis.Redis) -> None:
    await use(bench)

    assert_all_end_together(admin)
    assert admin.pttl("cqs:vesting") > KEEP_MS


async def test_keys_of_tenants_expire_with_the_others(bench: CacheBench, admin: redis.Redis) -> None:
    await bench.put(*range(1, 61), group="loud")
    await bench.put(101, 102, group="quiet")
    await bench.take(30)
    await bench.take(1)

    assert_all_end_together(admin)


async def test_use_puts_the_expiry_off_when_less_than_half_is_left(bench: CacheBench, admin: redis.Redis) -> None:
    await bench.put(1, 2)
    for key in keys_of(admin):
        admin.pexpire(key, 60_000)

    await bench.advance(KEEP_MS // 2 - 1_000)
    await bench.take(1)
    assert all(left <= 60_000 for key, left in left_ms(admin).items() if not key.endswith("replays"))

    await bench.advance(2_000)
    await bench.take(1)
    assert all(is_about(left, KEEP_MS) for left in left_ms(admin).values())


async def test_looking_puts_nothing_off(bench: CacheBench, admin: redis.Redis) -> None:
    await bench.put(1)
    for key in keys_of(admin):
        admin.pexpire(key, 60_000)
    await bench.advance(KEEP_MS - 1_000)

    await bench.counts()
    await bench.cache.survey([bench.shard])
    await bench.peek(State.READY)
    await bench.cache.lookup(bench.shard, [1])
    await bench.cache.state(bench.shard)
    await bench.cache.vesting(10)
    await bench.cache.next_vesting_ms()

    assert all(left <= 60_000 for left in left_ms(admin).values())


async def test_shard_lives_from_page_to_page_while_it_is_filled(absent: CacheBench, admin: redis.Redis) -> None:
    epoch = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
    assert epoch is not None
    assert all(is_about(left, FILL_LEASE_MS) for left in left_ms(admin).values())
    for key in keys_of(admin):
        admin.pexpire(key, FILL_LEASE_MS // 2)

    await absent.put(1)
    assert all(left <= FILL_LEASE_MS // 2 for key, left in left_ms(admin).items() if not key.endswith(":late"))
    await absent.cache.fill(absent.shard, epoch, [absent.entry(2)], is_last=False)
    assert all(is_about(left, FILL_LEASE_MS) for left in left_ms(admin).values())

    await absent.cache.fill(absent.shard, epoch, [], is_last=True)
    assert all(is_about(left, KEEP_MS) for left in left_ms(admin).values())


async def test_filler_that_was_too_slow_is_refused_and_another_fills(absent: CacheBench, admin: redis.Redis) -> None:
    slow = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
    assert slow is not None
    admin.delete(*keys_of(admin))

    assert not await absent.cache.fill(absent.shard, slow, [absent.entry(1)], is_last=True)

    await absent.open(absent.entry(2))
    assert of(await absent.take()) == [2]


async def test_shard_that_expired_is_absent_and_has_no_work(bench: CacheBench, admin: redis.Redis) -> None:
    await bench.put(1, delay_ms=1_000)
    admin.delete(*keys_of(admin))
    await bench.advance(1_000)

    assert (await bench.cache.state(bench.shard)).residency is Residency.ABSENT
    assert await bench.cache.vesting(10) == []
    assert await bench.cache.next_vesting_ms() is None
    assert admin.exists("cqs:vesting") == 0


async def test_dropped_shard_leaves_no_keys(bench: CacheBench, admin: redis.Redis) -> None:
    await use(bench)

    await bench.cache.drop(bench.shard)

    assert {key for key in admin.keys("*") if ":attempt:" not in key} == {"cqs:life", "cqs:number"}


async def test_what_was_kept_for_its_time_goes_though_nothing_is_taken_or_removed_any_more(
    bench: CacheBench, admin: redis.Redis
) -> None:
    for number in range(1, 300):
        await bench.put(number)
        await bench.take(1)
        await bench.remove(number)
    sizes = sum(admin.memory_usage(key) or 0 for key in keys_of(admin))

    for _ in range(3):
        await bench.advance(TOMBSTONE_MS + 1)
        await bench.cache.survey([bench.shard])

    kinds = {key.rpartition(":")[2]: key for key in keys_of(admin)}
    assert admin.zcard(kinds["tomb"]) == admin.hlen(kinds["replays"]) == 1
    assert "replayed" not in kinds
    assert sum(admin.memory_usage(key) or 0 for key in keys_of(admin)) < sizes / 8


async def test_answers_of_nodes_that_have_ended_go_while_others_take(bench: CacheBench, admin: redis.Redis) -> None:
    (replays,) = admin.keys("cqs:{*}:replays")
    admin.hset(replays, mapping={f"a node that ended-{slot:x}": "an answer" for slot in range(256)})

    for number in range(1, 4):
        await bench.put(number)
        await bench.take(1)
        await bench.advance(60_000)

    kept = sum(admin.hlen(key) for key in admin.keys("cqs:{*}:replay*"))
    assert kept < 10


async def test_a_shard_whose_answers_were_evicted_gives_what_it_has(bench: CacheBench, admin: redis.Redis) -> None:
    await bench.put(1)
    admin.delete(*admin.keys("cqs:{*}:replays"))

    assert [one.address for one in (await bench.take(1)).received] == [1]


async def test_kept_answer_lives_no_longer_than_its_replay(bench: CacheBench, admin: redis.Redis) -> None:
    await bench.put(1)
    await bench.take(request_id="attempt", replay_ms=300_000)

    (key,) = admin.keys("cqs:{*}:attempt:*")

    assert is_about(admin.pttl(key), 300_000)


async def test_no_key_ends_before_the_state_that_says_it_is_there(absent: CacheBench, admin: redis.Redis) -> None:
    """Each PEXPIRE reads the clock itself (Redis 7.0 and older), so the key set last may live a millisecond longer."""
    early: list[str] = []
    for _ in range(300):
        await absent.open()
        ends = ends_ms(admin)
        (state,) = [name for name in ends if name.endswith(":state")]
        early += [name for name in ends if ends[name] < ends[state]]
        await absent.cache.drop(absent.shard)

    assert early == []
