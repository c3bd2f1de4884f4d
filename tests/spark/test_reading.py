"""Journals in bad states: damaged, copied, truncated, of another version, empty."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqs.events import EventName
from cqs.journal.files import files_of
from spark_jobs.errors import NoJournal, UnknownVersion
from spark_jobs.gaps import GapKind
from spark_jobs.verdict import State
from tests.spark.golden import Golden

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.events import Journal


def read(spark: SparkSession, folder: Path) -> Journal:
    from spark_jobs.events import read_journal

    return read_journal(spark, [str(folder)], str(folder.parent / "stage"))


def play(folder: Path, count: int, *, is_killed: bool = False) -> list[Path]:
    """Writes files of two nodes with `count` sends."""
    golden = Golden(folder, seed=count)
    golden.send(golden.queue("orders"), count)
    golden.flush()
    if not is_killed:
        golden.close()
    return [file.path for file in files_of(folder)]


def rewritten(path: Path, change: tuple[bytes, bytes] | None = None, *, cut: int = 0, tail: bytes = b"") -> None:
    raw = gzip.decompress(path.read_bytes())
    if change is not None:
        assert change[0] in raw
        raw = raw.replace(*change, 1)
    path.write_bytes(gzip.compress(raw + tail, mtime=0)[: -cut or None])


def test_every_damage_is_seen_and_the_good_lines_are_read(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    torn, changed = play(folder, 40)
    shutil.copy(changed, folder / f"copy.{changed.name}")
    rewritten(torn, cut=60)
    rewritten(changed, (b'"bytes":[2', b'"bytes":[3'))
    third, fourth = (Path(shutil.copy(path, folder)) for path in play(tmp_path / "more", 50))
    rewritten(third, (b'{"v":2', b'{"v"2'), tail=b'not json\n{"v":2,"event":"sent"}\n')
    rewritten(fourth, (b'"event":"sent"', b'"event":"sung"'))
    (folder / "n.20260101T000000.0123456789abc.000001.jsonl.gz").write_bytes(b"no gzip at all")

    journal = read(spark, folder)

    found = {(gap.kind, Path(gap.path).name) for gap in journal.integrity.gaps}
    assert (GapKind.UNREADABLE, "n.20260101T000000.0123456789abc.000001.jsonl.gz") in found
    assert (GapKind.TORN, torn.name) in found
    assert (GapKind.MISSING, third.name) in found
    assert (GapKind.MISSING, fourth.name) in found
    assert len(journal.integrity.duplicates) == 1
    bad = {row["text"][:8] for row in journal.bad.collect()}
    assert journal.integrity.bad == 4
    assert {'{"v"2,"n', "not json"} < bad
    sends = journal.events.where(f"event = '{EventName.SENT.value}'")
    assert sends.count() == sends.select("address").distinct().count()
    assert journal.integrity.is_whole is False


def test_files_that_can_not_be_read_to_their_end_are_told_by_name(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "a journal"
    whole, empty = play(folder, 40)
    cut, garbled = (Path(shutil.copy(path, folder)) for path in play(tmp_path / "more", 200))
    empty.write_bytes(b"")
    cut.write_bytes(cut.read_bytes()[:-200])
    packed = bytearray(garbled.read_bytes())
    packed[-8] ^= 1
    garbled.write_bytes(packed)
    rewritten(whole, (b'"queue":["orders"', b'"queue":["0rders"'))
    killed = tmp_path / "killed"
    killed_paths = [Path(shutil.copy(path, folder)) for path in play(killed, 10, is_killed=True)]

    journal = read(spark, folder)

    found = {Path(gap.path).name: gap.kind for gap in journal.integrity.gaps}
    assert found == {
        whole.name: GapKind.DAMAGED,
        empty.name: GapKind.UNREADABLE,
        cut.name: GapKind.TORN,
        garbled.name: GapKind.UNREADABLE,
        **{path.name: GapKind.NO_END for path in killed_paths},
    }


def test_journal_of_an_incarnation_that_is_gone_is_missed(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    gone = play(folder, 10)
    play(folder, 11)
    assert read(spark, folder).integrity.is_whole
    for path in gone:
        path.unlink()

    journal = read(spark, folder)

    assert [gap.kind for gap in journal.integrity.gaps] == [GapKind.NO_PREDECESSOR] * 2
    assert {gap.incarnation for gap in journal.integrity.gaps} == {path.name.split(".")[2] for path in gone}


def test_whole_journals_of_two_nodes_are_whole(spark: SparkSession, tmp_path: Path) -> None:
    play(tmp_path / "journal", 20)

    journal = read(spark, tmp_path / "journal")

    assert journal.integrity.is_whole
    assert journal.events.count() == 20
    assert journal.bad.isEmpty()


def test_killed_node_is_seen_by_its_missing_end(spark: SparkSession, tmp_path: Path) -> None:
    play(tmp_path / "journal", 20, is_killed=True)

    journal = read(spark, tmp_path / "journal")

    assert [gap.kind for gap in journal.integrity.gaps] == [GapKind.NO_END, GapKind.NO_END]
    assert journal.events.count() == 20


def test_line_whose_columns_do_not_fit_is_set_aside_whole_and_once(spark: SparkSession, tmp_path: Path) -> None:
    path, _ = play(tmp_path / "journal", 40)
    [closed] = gzip.decompress(path.read_bytes()).splitlines()[-1:]
    head = closed[: closed.index(b'"event"')].decode()
    bad = [
        '"number":[901,902,903],"at_ms":[1],"bytes":[1,2]',
        '"number":[901],"at_ms":[1,2]',
        '"number":[901,902]',
        '"at_ms":[1]',
        '"number":[],"at_ms":[]',
        '"number":[901,null],"at_ms":[1]',
        '"number":[901,"x"],"at_ms":[1]',
        '"number":901,"at_ms":1',
    ]
    rewritten(path, tail="".join(f'{head}"event":"sent",{columns}}}\n' for columns in bad).encode())

    journal = read(spark, tmp_path / "journal")

    assert journal.integrity.bad == len(bad)
    assert sorted(row["text"] for row in journal.bad.collect()) == sorted(
        f'{head}"event":"sent",{columns}}}' for columns in bad
    )
    assert journal.integrity.is_whole
    assert journal.events.count() == 40


@pytest.mark.parametrize("name", [b"number", b"at_ms", b"bytes"])
def test_number_beyond_any_other_is_a_gap_and_ends_nothing(spark: SparkSession, tmp_path: Path, name: bytes) -> None:
    from spark_jobs.audit import Rules, audit

    changed, _ = play(tmp_path / "journal", 40)
    sent = next(line for line in gzip.decompress(changed.read_bytes()).split(b"\n") if b'"sent"' in line)
    rewritten(changed, (sent, re.sub(rb'("%s":\[)\d+' % name, rb"\g<1>%d" % (2**63 - 1), sent)))

    found = audit(spark, [str(tmp_path / "journal")], str(tmp_path / "audit"), Rules(is_drained=True))

    assert changed.name in {Path(gap.path).name for gap in found.integrity.gaps}
    assert found.verdict.state is State.UNPROVEN


def test_line_of_the_first_version_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path, _ = play(tmp_path / "journal", 3)
    first = b'{"v":1,"node":"n","incarnation":"i","number":1,"event":"sent","at_ms":1,"queue":"orders"}\n'
    rewritten(path, tail=first)

    with pytest.raises(UnknownVersion, match=r"version 1 in .*this audit reads version 2"):
        read(spark, tmp_path / "journal")


def test_another_version_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    path, _ = play(tmp_path / "journal", 3)
    rewritten(path, (b'{"v":2', b'{"v":9'))

    with pytest.raises(UnknownVersion, match=r"version 9 in .*this audit reads version 2"):
        read(spark, tmp_path / "journal")


def test_folder_that_is_named_twice_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    from spark_jobs.events import read_journal

    play(tmp_path / "journal", 3)
    (tmp_path / "other").symlink_to(tmp_path / "journal")
    names = [str(tmp_path / "journal"), f"{tmp_path}/journal/", str(tmp_path / "other")]

    journal = read_journal(spark, names, str(tmp_path / "stage"))

    assert journal.integrity.is_whole
    assert journal.events.where(f"event = '{EventName.SENT.value}'").count() == 3


def test_no_folder_and_no_files_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(NoJournal, match="is not a folder"):
        read(spark, tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoJournal, match="No journal files"):
        read(spark, tmp_path / "empty")


def test_journal_of_an_idle_server_is_audited_to_nothing(spark: SparkSession, tmp_path: Path) -> None:
    from spark_jobs.audit import Rules, audit
    from spark_jobs.verdict import State

    Golden(tmp_path / "journal", seed=1).close()

    found = audit(spark, [str(tmp_path / "journal")], str(tmp_path / "audit"), Rules())

    assert found.verdict.state is State.UNPROVEN
    assert "nothing to audit" in found.verdict.reasons[0]
    assert found.totals.acknowledged == 0
