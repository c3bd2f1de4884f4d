"""`cqs schema`, against a real node and against none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cqs.store.cassandra import Options
from tests.cassandra_server import free_ports
from tests.contract.cassandra_home import ask
from tests.needs import needs

SECONDS_MAX = 60


def cqs(*arguments: str) -> tuple[int, str, str]:
    """Exit code, output, errors."""
    command = [sys.executable, "-m", "cqs", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS_MAX)
    return done.returncode, done.stdout, done.stderr


def test_the_schema_is_shown_with_its_reasons() -> None:
    code, shown, _ = cqs("schema", "show")

    assert code == 0
    assert "CREATE TABLE IF NOT EXISTS messages" in shown
    assert "tombstones" in shown


def test_a_cluster_that_is_not_there_is_one_line() -> None:
    (port,) = free_ports(["127.0.0.1"], 1)

    code, _, errors = cqs("schema", "apply", "--cassandra", f"127.0.0.1:{port}")

    assert code == 1
    assert errors.startswith("cqs: Cassandra at 127.0.0.1:")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    "flags, told",
    [
        (["--replicas", "dc1=0"], "'dc1=0' is no DC=N"),
        (["--cassandra", "host:port"], "'host:port' is no HOST[:PORT]"),
        (["--cassandra", "a:1", "--cassandra", "b:2"], "one port"),
    ],
)
def test_a_wrong_flag_is_told(flags: list[str], told: str) -> None:
    code, _, errors = cqs("schema", "apply", *flags)

    assert code == 2
    assert told in errors


@needs("java", "mvn")
@pytest.mark.slow
async def test_the_tables_are_made_once(keyspace: Options) -> None:
    where = ["--cassandra", f"127.0.0.1:{keyspace.port}", "--keyspace", "by_command", "--replicas", "dc1=1"]

    first = cqs("schema", "apply", *where)
    second = cqs("schema", "apply", *where)

    assert (first[0], second[0]) == (0, 0)
    assert first[1].endswith("schema version 1 made.\n")
    assert second[1].endswith("schema version 1 already in place.\n")
    await ask(keyspace, "DROP KEYSPACE by_command")
