"""Files that the streaming audit does not read and must not pass over in silence: those without an end, of servers that
were killed and not started again, and those of which Spark can't read a line."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spark_jobs.gaps import GapKind
from spark_jobs.open_files import left
from spark_jobs.unread_files import UnreadFiles
from tests.spark.golden import Golden
from tests.spark.streams import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def killed(golden: Golden) -> None:
    """Ends the second of its nodes without a closing line."""
    golden.journals[1].flush()
    golden.journals[1].writing.abandon()
    del golden.journals[1]


def test_file_that_nobody_writes_to_is_a_gap_once_others_have_gone_on(tmp_path: Path) -> None:
    golden = Golden(tmp_path, seed=21)
    golden.send(golden.queue("orders"), 20)
    golden.flush()
    now_ms = golden.clock.now_ms()
    assert left([str(tmp_path), "s3://bucket/journal"], now_ms + 1) == []

    killed(golden)

    [gap] = left([str(tmp_path)], now_ms + 1)
    assert (gap.kind, gap.node, gap.lines, gap.until_ms) == (GapKind.NO_END, "node-b", None, None)
    assert gap.from_ms is not None
    assert gap.from_ms <= now_ms
    assert left([str(tmp_path)], gap.from_ms) == []


def test_file_that_was_given_up_is_none_while_its_server_writes_another(tmp_path: Path) -> None:
    golden = Golden(tmp_path, seed=22)
    golden.send(golden.queue("orders"), 20)
    golden.flush()
    for journal in golden.journals:
        journal.writing.abandon()
    assert len(left([str(tmp_path)], golden.clock.now_ms() + 1)) == 2

    golden.send(golden.queue("more"), 20)
    golden.flush()

    assert left([str(tmp_path)], golden.clock.now_ms() + 1) == []


def test_stream_proves_nothing_beside_a_server_that_was_killed(spark: SparkSession, tmp_path: Path) -> None:
    dead, alive, output = tmp_path / "dead", tmp_path / "alive", tmp_path / "out"
    golden, later = Golden(dead, seed=23), Golden(alive, seed=25)
    golden.flush()
    for journal in golden.journals:
        journal.writing.abandon()
    later.tick(60_000)
    orders = later.queue("orders")
    later.consume(orders, *later.send(orders, 1))
    later.close()

    figures = run(spark, dead, alive, output=output, delay_ms=30_000)

    assert [(gap["kind"], gap["node"]) for gap in figures["gaps"]] == [
        ("no closing line", "node-a"),
        ("no closing line", "node-b"),
    ]
    assert (figures["verdict"]["state"], figures["verdict"]["lost"]) == ("unproven", None)
    until_s = later.clock.now_ms() / 1_000
    assert f"cqs_audit_read_until_seconds {until_s!r}\n" in (output / "cqs_audit.prom").read_text()


@pytest.mark.parametrize("junk", [b"", b"hello", gzip.compress(b""), gzip.compress(b"x" * 10_000)[:20]])
def test_finished_file_without_a_line_that_can_be_read_is_a_gap(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "sound.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))
    (tmp_path / "junk.jsonl.gz").write_bytes(junk)
    unread = UnreadFiles([str(tmp_path), "s3://bucket/journal"])

    for _ in range(2):
        [gap] = unread.gaps()
        assert (gap.kind, gap.path, gap.lines) == (GapKind.UNREADABLE, f"file:{tmp_path}/junk.jsonl.gz", None)

    (tmp_path / "junk.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))
    assert unread.gaps() == []


def test_finished_file_that_spark_takes_for_hidden_is_a_gap(tmp_path: Path) -> None:
    (tmp_path / "_node.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))

    assert [gap.kind for gap in UnreadFiles([str(tmp_path)]).gaps()] == [GapKind.UNREADABLE]


def test_stream_proves_nothing_beside_a_file_that_it_cannot_read(spark: SparkSession, tmp_path: Path) -> None:
    folder, output = tmp_path / "journal", tmp_path / "out"
    golden = Golden(folder, seed=26)
    orders = golden.queue("orders")
    golden.consume(orders, *golden.send(orders, 1))
    golden.close()
    (folder / "node-a-other.jsonl.gz").write_bytes(b"hello")

    figures = run(spark, folder, output=output)

    assert [(gap["kind"], Path(gap["path"]).name) for gap in figures["gaps"]] == [
        ("unreadable file", "node-a-other.jsonl.gz")
    ]
    assert (figures["verdict"]["state"], figures["verdict"]["lost"]) == ("unproven", None)
