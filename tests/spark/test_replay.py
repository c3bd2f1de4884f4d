"""A workload is played against a real server by Spark tasks, with injected faults, then audited and reconciled."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from spark_jobs.verdict import State
from spark_jobs.workload import Workload
from tests.sdk.server_process import ServerProcess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.spark.golden import Golden

LOAD = Workload("small", queues=2, senders=2, receivers=2, messages=40, visibility_s=2, receive_max=5)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    (tmp_path / "data").mkdir()
    process = ServerProcess(tmp_path / "data", "--journal", "full")
    process.start()
    yield process
    if process._process is not None and process._process.poll() is None:
        process.kill()


def test_each_receiver_that_quits_is_one_redelivery(spark: SparkSession, tmp_path: Path, server: ServerProcess) -> None:
    """On a slow machine, one that deletes too late is another."""
    from spark_jobs.audit import Rules, audit
    from spark_jobs.replay import replay

    load = replace(LOAD, receive_max=1, quit_probability=0.1)
    observations = replay(
        spark, load, (server.url,), "quit", str(tmp_path / "observations"), tell=lambda _: None
    ).cache()
    server.stop()

    found = audit(spark, [str(tmp_path / "data" / "journal")], str(tmp_path / "audit"), Rules(is_drained=True))
    quits = observations.where("outcome = 'quit'").count()
    again = observations.where("event = 'receive' and outcome = 'ok'").count() - 160
    assert again >= quits > 0
    assert (found.totals.acknowledged, found.totals.duplicates) == (160, again)
    assert found.tables["redeliveries"] == [{"reason": "timeout ran out", "count": again}]
    assert (found.verdict.state, found.verdict.lost) == (State.PROVEN, 0)


def recorded(spark: SparkSession, tmp_path: Path, golden: Golden) -> DataFrame:
    """Returns the sends of its journal."""
    from spark_jobs.events import read_journal
    from spark_jobs.recorded import sends_in

    golden.close()
    return sends_in(read_journal(spark, [str(tmp_path / "journal")], str(tmp_path / "stage")).events)


def test_recorded_journal_is_played_again_as_it_was(spark: SparkSession, tmp_path: Path, server: ServerProcess) -> None:
    from spark_jobs.jepsen import total_queue
    from spark_jobs.recorded import START_S, replay_recorded
    from tests.spark.golden import Golden

    golden = Golden(tmp_path / "journal", seed=9)
    golden.send(golden.queue("orders"), 20, group="tenant-a")
    golden.tick(2_000)
    golden.send(golden.queue("payments.fifo"), 10, group="g")
    sends = recorded(spark, tmp_path, golden)
    begun_s = time.time()

    observations = replay_recorded(
        spark, sends, (server.url,), "again", str(tmp_path / "observations"), speed=2, tell=lambda _: None
    ).cache()

    seen = total_queue(observations)
    assert (seen["attempts"], seen["ok"], seen["lost"], seen["unexpected"]) == (30, 30, 0, 0)
    sent = observations.where("event = 'send'")
    assert {row["queue"] for row in sent.collect()} == {"again-0-0", "again-1-0.fifo"}
    late = sent.where("queue = 'again-1-0.fifo'").agg({"at_ms": "min"}).collect()[0][0]
    assert late / 1_000 - begun_s >= START_S + 0.9  # at twice its speed; a slow machine may be later


def test_recorded_order_delays_and_accounts_are_kept(
    spark: SparkSession, tmp_path: Path, server: ServerProcess
) -> None:
    from spark_jobs.events import read_journal
    from spark_jobs.jepsen import total_queue
    from spark_jobs.recorded import replay_recorded
    from tests.spark.golden import Golden

    golden = Golden(tmp_path / "journal", seed=10)
    fifo, one = golden.queue("q.fifo"), golden.queue("jobs")
    other = msgspec.structs.replace(golden.queue("jobs"), account="2" * 12)
    ordered = [golden.message(fifo, "ab"[number % 2]) for number in range(80)]
    golden.journals[1].sent(fifo, ordered[40:])
    golden.tick(5)
    golden.journals[0].sent(fifo, ordered[:40])
    golden.send(other, 3)
    late = golden.message(one)
    golden.node.sent(one, [msgspec.structs.replace(late, body="x" * 1_048_576, visible_ms=late.sent_ms + 4_000)])
    sends = recorded(spark, tmp_path, golden)

    observations = replay_recorded(
        spark, sends, (server.url,), "kept", str(tmp_path / "observations"), speed=2, tell=lambda _: None
    ).cache()
    server.stop()

    seen = total_queue(observations)
    assert (seen["attempts"], seen["ok"], seen["lost"]) == (84, 84, 0)
    played = read_journal(spark, [str(tmp_path / "data" / "journal")], str(tmp_path / "played")).events
    sent = played.where("event = 'sent'").orderBy("sequence").collect()
    for group in "ab":
        indexes = [row["index"] for row in sent if row["tenant"] == group]
        assert indexes == sorted(indexes) and len(indexes) == 40
    queues = Counter(row["queue"] for row in sent if not row["is_fifo"])
    assert sorted(queues.values()) == [1, 3]
    (delayed,) = [row for row in sent if row["visible_ms"]]
    assert delayed["visible_ms"] - delayed["sent_ms"] == 2_000
    assert 1_048_000 < delayed["bytes"] < 1_048_576


def test_store_that_lost_and_gained_messages_is_found_out(
    spark: SparkSession, tmp_path: Path, server: ServerProcess
) -> None:
    from spark_jobs.audit import Rules, audit
    from spark_jobs.replay import replay
    from spark_jobs.stored import in_sqlite

    replay(
        spark, replace(LOAD, receivers=0), (server.url,), "sent", str(tmp_path / "observations"), tell=lambda _: None
    ).count()
    server.stop()
    data = tmp_path / "data"
    with closing(sqlite3.connect(data / "messages.db")) as store, store:
        keys = [key for (key,) in store.execute("SELECT id FROM messages ORDER BY id")]
        store.executemany("DELETE FROM messages WHERE id = ?", [(key,) for key in keys[:3]])
        store.execute("UPDATE messages SET body = x'00' WHERE id = ?", (keys[10],))
        store.execute("UPDATE messages SET id = id + (1 << 40) WHERE id = ?", (keys[20],))

    rules, stored = Rules(has_all_nodes=True), in_sqlite(spark, str(data))
    found = audit(spark, [str(data / "journal")], str(tmp_path / "audit"), rules, stored)

    assert found.store is not None
    assert (found.store.stored, found.store.lost, found.store.orphans, found.store.corrupted) == (157, 4, 1, 1)
    assert found.verdict.state is State.VIOLATED
    assert found.verdict.lost == 4


def test_place_without_a_store_is_told(spark: SparkSession, tmp_path: Path) -> None:
    from spark_jobs.stored import NoStore, in_sqlite

    with pytest.raises(NoStore, match="name the server's data_dir"):
        in_sqlite(spark, str(tmp_path))
