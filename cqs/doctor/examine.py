"""Runs all checks of a configuration, in the order in which a starting server would meet the problems."""

from __future__ import annotations

from cqs.backends import cassandra_options
from cqs.cache.redis import check_client
from cqs.clock import Clock
from cqs.config import Config, Loaded
from cqs.doctor.finding import Finding, error, ok
from cqs.doctor.host_checks import check_host
from cqs.doctor.start_checks import check_start
from cqs.errors import ConfigError
from cqs.spawn import program_of


async def examine(loaded: Loaded[Config], clock: Clock) -> list[Finding]:
    """All findings, including positive ones. Changes nothing. Raises CannotStart if a driver is not installed."""
    config = loaded.config
    findings = [*check_host(config), *await check_start(loaded, clock)]
    if config.backends.redis:
        check_client()
    if "spawn" in config.backends.redis:
        program = program_of()
        findings.append(
            ok("redis spawn", program)
            if program
            else error(
                "redis spawn", "no redis-server and no valkey-server on the PATH", "apt-get install redis-server"
            )
        )
    if any(place != "spawn" for place in config.backends.redis):
        from cqs.doctor.redis_checks import check_redis

        try:
            findings += await check_redis(config.backends, clock)
        except ConfigError as wrong:
            findings.append(error("redis", str(wrong), "correct it"))
    if config.backends.cassandra and not config.storage.is_in_memory:
        options = cassandra_options(config.backends)
        from cqs.doctor.cassandra_checks import check_cassandra

        findings += await check_cassandra(options, clock)
    return findings
