"""`cqs doctor` on this machine and on real Redis servers, each with one fault."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from cqs.cli import cli
from deploy.cluster.ports import free_ports
from deploy.cluster.redis_process import RedisProcess
from tests.integration.certificates import make_certificate
from tests.integration.doctor_case import doctor, pretended_redis
from tests.integration.process import serving
from tests.needs import needs

PASSWORD = "hush"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "data")


def test_all_is_well_on_a_machine_of_this_kind(folder: str) -> None:
    told = doctor("--data-dir", folder)

    assert told.code == 0
    assert {level for level, _, _, _ in told.findings} == {"ok"}
    assert not Path(folder).exists()


def test_people_are_told_in_lines(folder: str) -> None:
    (port,) = free_ports(["127.0.0.1"], 1)
    result = CliRunner().invoke(cli, ["doctor", "--data-dir", folder, "--redis", f"redis://127.0.0.1:{port}"])

    lines = result.output.splitlines()
    assert result.exit_code == 1
    assert lines[-3].startswith(f"error    redis 127.0.0.1:{port}: it can't be reached: ")
    assert lines[-2].startswith("         -> start it")
    assert lines[-1] == "1 error, 0 warnings."


def test_a_port_that_another_program_uses(folder: str) -> None:
    with pretended_redis("7.0.0", 0) as place:
        port = place.rpartition(":")[2]
        told = doctor("--data-dir", folder, "--port", port)

    assert told.code == 1
    ((level, text),) = told.about("settings")
    assert (level, text.startswith(f"port {port} on 127.0.0.1 is in use; ")) == ("error", True)


@pytest.mark.parametrize("is_secure", [False, True])
def test_the_port_of_a_server_that_runs(folder: str, tmp_path: Path, is_secure: bool) -> None:
    make_certificate(tmp_path)
    tls = ["--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")] if is_secure else []
    with serving("--data-dir", folder, *tls) as server:
        port = server.endpoint.rpartition(":")[2]
        told = doctor("--data-dir", folder, "--port", port, *tls)

    assert told.about(f"port {port}") == [("ok", "a CQS server listens on it")]
    assert "error" not in {level for level, _, _, _ in told.findings}


def test_more_connections_than_files(folder: str) -> None:
    told = doctor("--data-dir", folder, "--connections-max", "1000000")

    assert told.code == 0
    assert told.about("open files")[0][0] == "warning"


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")

    assert doctor("--data-dir", str(tmp_path / "data")).about("data folder") == [
        ("error", f"{tmp_path / 'data'} is a file")
    ]


def test_a_sound_database_is_looked_at_while_a_server_uses_it(folder: str) -> None:
    with serving("--data-dir", folder):
        ((level, text),) = doctor("--data-dir", folder).about("database")

    assert (level, text.endswith("MB, sound")) == ("ok", True)


def make_database_of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.write_bytes(b""), "it is empty"),
        (lambda path: path.write_bytes(b"no database at all" * 500), "file is not a database"),
        (make_database_of_another_program, "it is an SQLite file of another program"),
    ],
    ids=["empty", "nonsense", "another program's"],
)
def test_a_database_that_can_not_be_used(tmp_path: Path, damage: object, words: str) -> None:
    assert callable(damage)
    damage(tmp_path / "messages.db")

    told = doctor("--data-dir", str(tmp_path))

    assert told.code == 1
    assert told.about("database") == [("error", words)]


def test_a_database_beside_the_wal_of_another(tmp_path: Path) -> None:
    make_database_of_another_program(tmp_path / "messages.db")
    (tmp_path / "messages.db-wal").write_bytes(b"commits of another database")

    ((level, problem),) = doctor("--data-dir", str(tmp_path)).about("database")

    assert level == "error"
    assert "messages.db-wal belongs to the database that was there before" in problem


def test_a_certificate_that_ends_tomorrow(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    flags = ["--data-dir", str(tmp_path), "--tls-cert", str(tmp_path / "cert.pem")]

    assert doctor(*flags, "--tls-key", str(tmp_path / "key.pem")).about("certificate") == [
        ("warning", "it expires in 1 day")
    ]
    assert doctor(*flags).about("certificate")[0][0] == "error"


def test_a_cluster_that_signs_needs_a_master_key(folder: str) -> None:
    (port,) = free_ports(["127.0.0.1"], 1)
    told = doctor("--data-dir", folder, "--auth", "signed", "--cassandra", "127.0.0.1", "--cassandra-port", str(port))

    assert told.about("master_key")[0][0] == "error"
    assert "no node answers" in told.about("cassandra")[0][1]


@needs("redis-server")
@pytest.mark.parametrize(
    ("options", "login", "level", "words"),
    [
        ([], "", "ok", "Redis "),
        (["--requirepass", PASSWORD], f":{PASSWORD}@", "ok", "Redis "),
        (["--requirepass", PASSWORD], ":wrong@", "error", "the user or password is wrong"),
        (["--requirepass", PASSWORD], "", "error", "it requires a password and none is given"),
        ([], f":{PASSWORD}@", "error", "a password is given but the server has none"),
        (["--replicaof", "127.0.0.1", "1"], "", "error", "it is a replica"),
        (["--cluster-enabled", "yes"], "", "error", "it runs in cluster mode"),
        (["--save", "60 1"], "", "warning", 'it saves to disk (save "60 1")'),
        (["--appendonly", "yes"], "", "warning", "it writes an append-only file"),
        (["--maxmemory", "2gb", "--maxmemory-policy", "allkeys-lru"], "", "error", "maxmemory-policy is allkeys-lru"),
        (["--maxmemory", "100mb"], "", "warning", "redis_memory is 512MB and it has 105 MB in all"),
    ],
)
def test_redis_with_one_fault(folder: str, options: list[str], login: str, level: str, words: str) -> None:
    (port,) = free_ports(["127.0.0.1"], 1)
    with RedisProcess(*options, port=port):
        told = doctor("--data-dir", folder, "--redis", f"redis://{login}127.0.0.1:{port}")

    ((found, text),) = told.about("redis")
    assert found == level
    assert text.startswith(words)
    assert told.code == (level == "error")
    assert PASSWORD not in text


@needs("redis-server")
def test_one_redis_by_two_names(folder: str) -> None:
    (port,) = free_ports(["127.0.0.1"], 1)
    with RedisProcess(port=port):
        flags = ["--redis", f"redis://127.0.0.1:{port}", "--redis", f"redis://localhost:{port}"]
        told = doctor("--data-dir", folder, *flags)

    assert ("error", f"it is the same server as redis 127.0.0.1:{port}") in told.about("redis localhost")


@pytest.mark.parametrize(
    ("version", "behind_s", "level", "words"),
    [
        ("6.0.16", 0, "error", "it is Redis 6.0.16"),
        ("6.2.0", 0, "ok", "Redis 6.2.0"),
        ("7.0.0", 5, "warning", "its clock is"),
        ("7.0.0", 60, "error", "its clock is"),
    ],
)
def test_redis_of_another_time(folder: str, version: str, behind_s: int, level: str, words: str) -> None:
    with pretended_redis(version, behind_s) as address:
        ((found, text),) = doctor("--data-dir", folder, "--redis", address).about("redis")

    assert (found, text.startswith(words)) == (level, True), text
