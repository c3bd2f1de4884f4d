"""Checks Redis servers: reachability, settings that could lose data silently, memory and clocks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping

from cqs.cache.redis import refusals, url
from cqs.cache.redis.connection import Address
from cqs.cache.redis.fitness import VERSION_MIN
from cqs.cache.redis.probe import Look, look
from cqs.cache.redis.refusals import in_words
from cqs.cache.redis.replies import ConnectionLost
from cqs.clock import Clock
from cqs.config.backend_settings import Backends
from cqs.config.values import show_size
from cqs.doctor.clocks import clock_finding
from cqs.doctor.finding import Finding, error, ok, warning
from cqs.errors import CacheUnavailable

MEMORY_PART = 0.9
"""Above this share of its memory limit, a server is nearly full."""


async def check_redis(wanted: Backends, clock: Clock) -> list[Finding]:
    """Raises ConfigError for an invalid address."""
    places = [place for place in wanted.redis if place != "spawn"]
    addresses = [url.parse(place, ca_file=wanted.redis_ca or None) for place in places]
    looks = await asyncio.gather(
        *(look(address, random.Random(), clock) for address in addresses), return_exceptions=True
    )
    findings: list[Finding] = []
    lives: dict[str, str] = {}
    for address, found in zip(addresses, looks, strict=True):
        part = f"redis {address}"
        if isinstance(found, CacheUnavailable):
            findings.append(_unusable(part, found, address))
        elif isinstance(found, BaseException):
            raise found
        else:
            findings += _fitness(part, found, wanted.redis_memory)
            life = found.info.get("run_id", "")
            if life in lives:
                findings.append(error(part, f"it is the same server as {lives[life]}", "give each server once"))
            lives.setdefault(life, part)
    return findings


_TO_DO = (
    (refusals.WRONG_LOGIN, "correct it in redis://[user:password@]host"),
    (refusals.NO_LOGIN, "write redis://:password@host"),
    (refusals.NEEDLESS_LOGIN, "set requirepass there, or leave it out here"),
    (refusals.PROTECTED, "set a password there (requirepass), or `protected-mode no` if only trusted hosts reach it"),
    (refusals.TOO_LITTLE, "allow it +@all on ~* (ACL SETUSER)"),
)


def _unusable(part: str, failure: CacheUnavailable, address: Address) -> Finding:
    reason = in_words(failure, address)
    for words, to_do in _TO_DO:
        if reason.startswith(words):
            return error(part, reason, to_do)
    if isinstance(failure, ConnectionLost):
        reason = f"can't be reached: {reason}"
    if reason.startswith("can't be reached"):
        return error(part, f"it {reason}", "start it, or correct its address; check the network between")
    return error(part, f"it refuses the connection: {reason}", "check its log, and correct its address in `redis`")


def _fitness(part: str, found: Look, budget_bytes: int) -> list[Finding]:
    info = found.info
    version = info.get("redis_version", "?")
    wrong: list[Finding] = []
    if tuple(int(number) for number in version.split(".")[:2] if number.isdigit()) < VERSION_MIN:
        wrong.append(error(part, f"it is Redis {version}", "use 6.2 or newer, or Valkey"))
    if info.get("role") != "master":
        wrong.append(
            error(part, "it is a replica; writes not yet replicated would be lost silently",
                  "give the address of its master, or run REPLICAOF NO ONE on it")
        )  # fmt: skip
    if info.get("cluster_enabled") == "1":
        wrong.append(
            error(part, "it runs in cluster mode", "use separate servers (cluster-enabled no): CQS spreads the queues")
        )
    wrong += _persistence(part, found.settings)
    wrong += _memory(part, info, budget_bytes)
    wrong += clock_finding(part, found.ahead_ms)
    return wrong or [ok(part, f"Redis {version}, {_used(info) / 1e6:.0f} MB used, clock {found.ahead_ms:+.0f} ms")]


def _persistence(part: str, settings: Mapping[str, str]) -> Iterator[Finding]:
    if not settings:
        yield warning(
            part, "CONFIG GET is not allowed, so it is not known whether it writes to disk", "allow +config|get"
        )
    if settings.get("save"):
        yield warning(part, f'it saves to disk (save "{settings["save"]}")', 'CONFIG SET save "", and in redis.conf')
    if settings.get("appendonly") == "yes":
        yield warning(part, "it writes an append-only file", "CONFIG SET appendonly no, and in redis.conf")


def _memory(part: str, info: Mapping[str, str], budget_bytes: int) -> Iterator[Finding]:
    limit, policy = int(info.get("maxmemory", 0)), info.get("maxmemory_policy", "noeviction")
    if limit and policy != "noeviction":
        yield error(
            part,
            f"maxmemory-policy is {policy}, so it may evict messages",
            "CONFIG SET maxmemory-policy noeviction",
        )
    room = limit or int(info.get("total_system_memory", 0))
    if room and budget_bytes > room * MEMORY_PART:
        yield warning(
            part,
            f"redis_memory is {show_size(budget_bytes)} and it has {room / 1e6:.0f} MB in all",
            f"lower redis_memory below {room * MEMORY_PART / 1e6:.0f}MB, or give it more (maxmemory)",
        )
    if limit and _used(info) > limit * MEMORY_PART:
        yield warning(part, f"it is nearly full: {_used(info)} of {limit} bytes", "raise maxmemory, or add a server")


def _used(info: Mapping[str, str]) -> int:
    return int(info.get("used_memory", 0))
