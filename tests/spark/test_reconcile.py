"""Reconciles store and journal: known faults in a real SQLite file and a real Cassandra keyspace get the same
verdict."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqs import ids
from spark_jobs.verdict import State
from tests import cassandra_server
from tests.cassandra_server import options_of
from tests.contract.cassandra_home import make_keyspace
from tests.needs import needs
from tests.spark import planted
from tests.spark.planted import InCassandra, InSqlite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.audit import Audit

SEED = 7


@pytest.fixture(scope="module")
def ring() -> Iterator[cassandra_server.Ring]:
    with cassandra_server.Ring(tuning=cassandra_server.Tuning(is_brief=True, is_started_once=True)) as ring:
        yield ring


def audited(spark: SparkSession, folder: Path, stored: DataFrame) -> Audit:
    from spark_jobs.audit import Rules, audit

    return audit(spark, [str(folder / "journal")], str(folder / "audit"), Rules(has_all_nodes=True), stored)


def check(found: Audit) -> None:
    store = found.store
    assert store is not None
    assert (store.stored, store.lost, store.orphans) == (planted.STORED, planted.LOST, planted.ORPHANS)
    assert (store.still_stored, store.corrupted) == (planted.REVIVED, planted.CORRUPTED)
    assert found.verdict.state is State.VIOLATED
    assert found.verdict.lost == planted.LOST
    kinds = Counter(row["kind"] for row in found.tables["findings"])
    assert kinds["lost"] == planted.LOST
    assert kinds["ended but still stored"] == planted.REVIVED


def test_faults_in_sqlite_are_found(spark: SparkSession, tmp_path: Path) -> None:
    from spark_jobs.stored import in_sqlite

    asyncio.run(planted.plant(InSqlite(tmp_path), tmp_path / "journal", SEED))

    check(audited(spark, tmp_path, in_sqlite(spark, str(tmp_path))))


@pytest.mark.slow
@needs("java", "mvn")
def test_faults_in_cassandra_are_found(spark: SparkSession, tmp_path: Path, ring: cassandra_server.Ring) -> None:
    from spark_jobs.stored_cassandra import Keyspace, in_cassandra

    options = options_of(ring, "audited")
    asyncio.run(make_keyspace(options))
    asyncio.run(planted.plant(InCassandra(options), tmp_path / "journal", SEED))
    keyspace = Keyspace(f"127.0.0.1:{ring.port}", "audited")

    check(audited(spark, tmp_path, in_cassandra(spark, keyspace)))


@pytest.mark.slow
@needs("java", "mvn")
def test_keyspace_that_is_not_ours_is_told(spark: SparkSession, ring: cassandra_server.Ring) -> None:
    from spark_jobs.stored import NoStore
    from spark_jobs.stored_cassandra import Keyspace, in_cassandra

    with pytest.raises(NoStore, match=r"Keyspace nothing at .* was `cqs schema apply` run there"):
        in_cassandra(spark, Keyspace(f"127.0.0.1:{ring.port}", "nothing"))


@needs("mvn")
def test_cluster_that_does_not_answer_is_told(spark: SparkSession) -> None:
    from spark_jobs.stored import NoStore
    from spark_jobs.stored_cassandra import Keyspace, in_cassandra

    (port,) = cassandra_server.free_ports(["127.0.0.1"], 1)
    with pytest.raises(NoStore, match=rf"at 127.0.0.1:{port} can't be read: .*Failed to open native connection"):
        in_cassandra(spark, Keyspace(f"127.0.0.1:{port}"))


def test_invalid_place_is_refused() -> None:
    from spark_jobs.stored import NoStore
    from spark_jobs.stored_cassandra import Keyspace

    with pytest.raises(NoStore, match="the same port"):
        _ = Keyspace("a:1,b:2").options
    with pytest.raises(NoStore, match=r"'a:x' is not HOST\[:PORT\]"):
        _ = Keyspace("a:x").options
    with pytest.raises(NoStore, match="does not read the IPv6 address ::1: give a name"):
        _ = Keyspace("[::1]:9042").options


def test_addresses_are_written_as_the_journal_does(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from cqs.store.cassandra.addresses import place_of
    from spark_jobs.stored_cassandra import address_text

    rng = random.Random(1)
    addresses = [0, (1 << 122) - 1, *(rng.getrandbits(122) for _ in range(500))]
    rows = [(ids.text_of(one), ids.row_of(one), *place_of(one)) for one in addresses]
    table = spark.createDataFrame(rows, "text string, row short, at long, incarnation long")

    told = address_text(F.col("at"), F.col("row"), F.col("incarnation"))
    assert table.where(told != F.col("text")).count() == 0


def test_audit_command_reads_the_keyspace_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from spark_jobs.__main__ import _arguments
    from spark_jobs.store_options import keyspace_of, store_settings
    from spark_jobs.stored import NoStore

    (tmp_path / "password").write_text("hush\n")
    given = ["j", "--cassandra", "a:9,b:9", "--keyspace", "k", "--cassandra-user", "u"]
    options = _arguments([*given, "--cassandra-password-file", str(tmp_path / "password")])

    asked = keyspace_of(options).options
    assert asked["spark.cassandra.connection.host"] == "a,b"
    assert asked["spark.cassandra.connection.port"] == "9"
    assert asked["spark.cassandra.auth.password"] == "hush"
    monkeypatch.setenv("SPARK_ENV_LOADED", "1")
    assert store_settings(options) == {}
    with pytest.raises(NoStore, match="can't be read from nowhere: No such file"):
        _ = keyspace_of(_arguments([*given, "--cassandra-password-file", "nowhere"])).options
