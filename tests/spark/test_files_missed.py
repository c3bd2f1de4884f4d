"""Files that were renamed, unpacked or joined, and folders with odd names: none is silently skipped."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqs.journal.files import files_of, node_name
from cqs.journal.rules import JournalRules
from cqs.testing.journal import JournalHere
from spark_jobs.gaps import GapKind
from tests.spark.golden import Golden
from tests.spark.streams import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.events import Journal

SENDS = 4


def play_two(folder: Path, names: tuple[str, str] = ("a", "b")) -> list[Path]:
    """Writes files of two nodes, each with its own sends."""
    golden = Golden(folder.parent / "unused", seed=33)
    golden.journals = [JournalHere(JournalRules(folder, name), golden.clock, golden.rng) for name in names]
    queue = golden.queue("orders")
    for journal in golden.journals:
        journal.sent(queue, [golden.message(queue) for _ in range(SENDS)])
    golden.close()
    return [file.path for file in files_of(folder)]


def sends(spark: SparkSession, folder: Path) -> tuple[int, Journal]:
    from spark_jobs.events import read_journal

    journal = read_journal(spark, [str(folder)], str(folder.parent / "stage"))
    return journal.events.where("event = 'sent'").select("address").distinct().count(), journal


@pytest.mark.parametrize("name", ["0.jsonl.gz", "z.jsonl.gz"])
def test_files_of_two_nodes_joined_into_one_are_read_beside_one_of_them(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    a, b = play_two(tmp_path / "journal")
    (tmp_path / "journal" / name).write_bytes(a.read_bytes() + b.read_bytes())
    b.unlink()

    count, journal = sends(spark, tmp_path / "journal")

    assert journal.integrity.is_whole
    assert count == journal.events.count() == 2 * SENDS


def test_unpacked_file_is_read_and_a_hidden_one_is_missed(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "a [journal] {1,2}"
    a, b = play_two(folder)
    a.with_suffix("").write_bytes(gzip.decompress(a.read_bytes()))
    a.unlink()
    b.rename(folder / f"_{b.name}")

    count, journal = sends(spark, folder)

    assert count == SENDS
    assert [(gap.kind, Path(gap.path).name) for gap in journal.integrity.gaps] == [
        (GapKind.UNREADABLE, f"_{b.name}"),
    ]
    assert node_name("_.api") == "api"


def test_streaming_audit_reads_folders_whose_names_look_like_patterns(spark: SparkSession, tmp_path: Path) -> None:
    names = ("a [1], b", "c {2}*")
    golden = Golden(tmp_path / "unused", seed=34)
    for name, node in zip(names, "ab", strict=True):
        journal = JournalHere(JournalRules(tmp_path / name, node), golden.clock, golden.rng)
        journal.sent(golden.queue(node), [golden.message(golden.queue(node))])
        journal.finish()

    figures = run(spark, *(tmp_path / name for name in names), output=tmp_path / "out [1]")

    assert figures["totals"]["acknowledged"] == 2
