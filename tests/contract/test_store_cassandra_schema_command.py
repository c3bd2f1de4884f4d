"""`cqs schema`, with and without a running Cassandra node."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from cqs.cli import main
from cqs.store.cassandra import Options
from tests.cassandra_server import free_ports
from tests.contract.cassandra_home import ask
from tests.needs import needs


def cqs(*arguments: str, **environ: str) -> tuple[object, str, str]:
    """Returns exit code, stdout and stderr."""
    out, errors = io.StringIO(), io.StringIO()
    with (
        redirect_stdout(out),
        redirect_stderr(errors),
        patch.object(sys, "argv", ["cqs", *arguments]),
        patch.dict(os.environ, environ),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return ended.value.code, out.getvalue(), errors.getvalue()


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
        (["--replicas", "dc1=0"], "'dc1=0' is not DC=N"),
        (["--cassandra", "host:port"], "'host:port' is not HOST[:PORT]"),
        (["--cassandra", "a:1", "--cassandra", "b:2"], "the same port"),
        (["--cassandra-password-file", "/nowhere"], "/nowhere"),
        (["--keyspace", "Not one"], "cassandra_keyspace: 'Not one' (flag --cassandra-keyspace) can't be used"),
    ],
)
def test_a_wrong_flag_is_told(flags: list[str], told: str) -> None:
    code, _, errors = cqs("schema", "apply", *flags)

    assert code == 2
    assert told in errors


def test_settings_of_the_server_say_where_the_tables_go(tmp_path: Path) -> None:
    (port,) = free_ports(["127.0.0.1"], 1)
    file = tmp_path / "cqs.toml"
    file.write_text('cassandra = ["127.0.0.1", "127.0.0.2"]\ncassandra_keyspace = "ours"\n')

    code, _, errors = cqs("schema", "apply", "--config", str(file), CQS_CASSANDRA_PORT=str(port))

    assert code == 1
    assert errors.startswith(f"cqs: Cassandra at 127.0.0.1:{port}, 127.0.0.2:{port}")


@needs("java", "mvn")
@pytest.mark.slow
async def test_the_tables_are_made_once(keyspace: Options) -> None:
    where = ["--cassandra", f"127.0.0.1:{keyspace.port}", "--keyspace", "by_command", "--replicas", "dc1=1"]

    first = await asyncio.to_thread(cqs, "schema", "apply", *where)
    second = await asyncio.to_thread(cqs, "schema", "apply", *where)

    assert (first[0], second[0]) == (0, 0)
    assert first[1].endswith("schema version 1 created.\n")
    assert second[1].endswith("schema version 1 already in place.\n")
    await ask(keyspace, "DROP KEYSPACE by_command")
