"""What the streaming audit does with lines that are late, too early, or invalid."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from cqs.journal.files import files_of
from tests.spark.golden import Golden
from tests.spark.streams import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_ended_messages_leave_the_state_and_what_comes_later_is_late(spark: SparkSession, tmp_path: Path) -> None:
    folder, output = tmp_path / "journal", tmp_path / "out"
    golden = Golden(folder, seed=4)
    orders = golden.queue("orders")
    messages = golden.send(orders, 5)
    golden.consume(orders, *messages[:3])
    golden.tick(60_000)
    golden.send(orders, 1)
    golden.close()
    figures = run(spark, folder, output=output, delay_ms=30_000)
    assert (figures["totals"]["acknowledged"], figures["waiting"]) == (6, 3)
    assert spark.read.parquet(str(output / "states" / "0" / "open")).count() == 3

    later = Golden(folder, seed=5)
    later.clock.advance_ms(60_200)
    later.delete(orders, messages[0])
    later.consume(orders, messages[3])
    later.tick(60_000)
    later.send(orders, 1)
    later.close()
    figures = run(spark, folder, output=output, delay_ms=30_000)

    totals = figures["totals"]
    assert (totals["acknowledged"], totals["deleted"], totals["late"], figures["waiting"]) == (7, 4, 1, 3)
    assert figures["verdict"]["state"] == "unproven"
    assert "1 message was logged too late, or nobody sent it" in figures["verdict"]["reasons"][-1]


def test_bad_lines_are_set_aside_batch_by_batch_and_each_file_of_them_is_a_gap(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder, output = tmp_path / "journal", tmp_path / "out"
    for seed, bad in ((13, [b"not json", b'{"v":1,"event":"sent"}']), (14, [b"nor this"])):
        golden = Golden(folder, seed=seed)
        golden.send(golden.queue("orders"), 3)
        golden.close()
        new = sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime_ns)[-1]
        new.write_bytes(gzip.compress(gzip.decompress(new.read_bytes()) + b"\n".join([*bad, b""])))
        (folder / f"bad-{seed}.jsonl.gz").write_bytes(gzip.compress(b"alone\n"))
        figures = run(spark, folder, output=output)

    aside = spark.read.parquet(str(output / "bad_lines")).collect()

    assert figures["bad_lines"] == 5
    assert sorted((row["batch"], row["text"]) for row in aside) == [
        (0, "alone"),
        (0, "not json"),
        (0, '{"v":1,"event":"sent"}'),
        (1, "alone"),
        (1, "nor this"),
    ]
    assert {Path(row["path"]).parent for row in aside} == {Path(f"file:{folder}")}
    told = [(gap["kind"], Path(gap["path"]).name) for gap in figures["gaps"]]
    assert told == [("unreadable file", "bad-13.jsonl.gz"), ("unreadable file", "bad-14.jsonl.gz")]


def test_whole_file_after_one_that_was_cut_is_kept_once(spark: SparkSession, tmp_path: Path) -> None:
    folder, output = tmp_path / "journal", tmp_path / "out"
    golden = Golden(folder, seed=17)
    golden.journals = golden.journals[:1]
    golden.send(golden.queue("orders"), 3)
    golden.close()
    [whole] = [file.path for file in files_of(folder) if file.is_finished]
    (part := tmp_path / "part").mkdir()
    *lines, _ = gzip.decompress(whole.read_bytes()).splitlines(keepends=True)
    (part / "cut.jsonl.gz").write_bytes(gzip.compress(b"".join(lines)))
    assert [gap["kind"] for gap in run(spark, part, output=output)["gaps"]] == ["no closing line"]
    shutil.copy(whole, part)

    figures = run(spark, part, output=output)

    assert (figures["totals"]["acknowledged"], figures["waiting"], figures["gaps"]) == (3, 3, [])
    assert spark.read.parquet(str(output / "states" / "1" / "open")).count() == 3


def test_events_that_come_later_than_the_delay_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    golden = Golden(tmp_path / "journal", seed=15)
    ours, theirs = golden.journals
    orders = golden.queue("orders")
    golden.journals = [ours]
    messages = golden.send(orders, 3)
    golden.journals = [theirs]
    golden.consume(orders, *messages)
    golden.journals = [ours, theirs]
    golden.tick(60_000)
    ours.sent(orders, [golden.message(orders)])
    golden.close()
    (part := tmp_path / "part").mkdir()
    early, late = (next((tmp_path / "journal").glob(f"{node}.*")) for node in ("node-a", "node-b"))
    shutil.copy(early, part)
    assert run(spark, part, output=tmp_path / "out", delay_ms=30_000)["totals"]["late_lines"] == 0
    shutil.copy(late, part)
    figures = run(spark, part, output=tmp_path / "out", delay_ms=30_000)

    names = ("late_lines", "received", "deleted", "placed", "late")
    assert [figures["totals"][name] for name in names] == [6, 3, 3, 0, 0]
    assert figures["verdict"]["state"] == "unproven"
    assert "6 events came too late" in figures["verdict"]["reasons"][-1]


def test_repeat_is_of_a_message_that_left_the_state_or_of_one_that_there_never_was(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder, output = tmp_path / "journal", tmp_path / "out"
    golden = Golden(folder, seed=18)
    orders, stranger = golden.queue("orders.fifo"), golden.queue("others")
    golden.tick(600_000)
    [message] = golden.send(orders, 1, "g")
    golden.consume(orders, message)
    golden.tick(40_000)
    golden.send(stranger, 1)
    golden.close()
    figures = run(spark, folder, output=output, delay_ms=30_000)
    assert spark.read.parquet(str(output / "states" / "0" / "open")).where("queue = 'orders.fifo'").count() == 0

    later = Golden(folder, seed=19)
    later.clock.set_ms(golden.clock.now_ms() - 5_000)
    never = later.message(orders, "g")
    later.node.deduplicated(orders, [message.address, never.address])
    later.close()
    begun = run(spark, folder, output=output, delay_ms=30_000)
    assert (figures["totals"]["never_stored"], begun["totals"]["never_stored"]) == (0, 1)
    assert "1 delivery or answer seems to break a rule" in begun["verdict"]["reasons"][-1]

    last = Golden(folder, seed=20)
    last.clock.set_ms(golden.clock.now_ms() + 600_000)
    last.send(stranger, 1)
    last.close()
    settled = run(spark, folder, output=output, delay_ms=30_000)
    assert (settled["totals"]["never_stored"], settled["totals"]["late"]) == (1, 0)
    assert settled["verdict"]["state"] == "unproven"
    assert settled["verdict"]["reasons"][0].startswith(
        "1 send was answered with the id of a message that nobody sent: or"
    )


def test_receive_that_is_read_before_its_send_waits_for_it(spark: SparkSession, tmp_path: Path) -> None:
    """Two nodes have a folder each. One is read first; the other's files look more than a week older."""
    golden = Golden(tmp_path / "journal", seed=6)
    orders = golden.queue("orders")
    golden.consume(orders, *golden.send(orders, 30))
    golden.timeout(orders, *golden.send(orders, 1))
    golden.close()
    nodes = [tmp_path / "node-a", tmp_path / "node-b"]
    for node in nodes:
        node.mkdir()
        for file in files_of(tmp_path / "journal"):
            if node.name in file.path.name:
                copy = shutil.copy(file.path, node)
                if node.name == "node-a":
                    long_ago_s = file.path.stat().st_mtime - 9 * 86_400
                    os.utime(copy, (long_ago_s, long_ago_s))

    early = {node.name: run(spark, node, output=tmp_path / f"out-{node.name}") for node in nodes}
    whole = run(spark, *nodes, output=tmp_path / "out-node-b")

    assert sum(figures["totals"]["acknowledged"] for figures in early.values()) == 31
    assert sum(figures["totals"]["deleted"] for figures in early.values()) < 31
    for figures in early.values():
        assert figures["totals"]["late"] == 0
        assert figures["verdict"]["state"] != "violated"
    totals = whole["totals"]
    assert (totals["acknowledged"], totals["received"], totals["deleted"], totals["duplicates"]) == (31, 31, 31, 1)
    assert (totals["late"], whole["waiting"], whole["verdict"]["state"]) == (0, 0, "proven")
