"""The streaming audit in parts, with restarts, and with late events: the result always equals the batch audit's."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqs.journal.files import files_of
from cqs.journal.rules import JournalRules
from cqs.testing.clock import ManualClock
from cqs.testing.journal import JournalHere
from tests.integration.process import until
from tests.processes import children_of, runs
from tests.spark.golden import Golden
from tests.spark.streams import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_parts_give_the_figures_of_the_whole(spark: SparkSession, tmp_path: Path) -> None:
    golden = Golden(tmp_path / "journal", seed=3)
    orders = golden.queue("orders")
    first = golden.send(orders, 10)
    for message in first[:4]:
        golden.consume(orders, message)
    golden.corrupted(orders, first[4])
    golden.timeout(orders, first[5])
    golden.close()
    part = tmp_path / "part"
    part.mkdir()
    written = [file.path for file in files_of(tmp_path / "journal")]
    shutil.copy(written[0], part)
    run(spark, part, output=tmp_path / "out")

    shutil.copy(written[1], part)
    shutil.copy(written[1], part / written[1].name.replace("node-b", "a-copy"))
    figures = run(spark, part, output=tmp_path / "out")

    totals = figures["totals"]
    assert (totals["acknowledged"], totals["received"], totals["deleted"]) == (10, 6, 6)
    assert (totals["corrupted"], totals["duplicates"], figures["waiting"]) == (1, 1, 4)
    assert totals["late"] == 0
    assert figures["verdict"]["state"] == "violated"
    assert figures["gaps"] == []
    metrics = (tmp_path / "out" / "cqs_audit.prom").read_text()
    assert f'cqs_audit_acknowledged{{account="{"1" * 12}",queue="orders",uid="{orders.uid}"}} 10\n' in metrics
    assert f'cqs_audit_latency_p50_ms{{account="{"1" * 12}",queue="orders",uid="{orders.uid}"}} ' in metrics
    assert 'cqs_audit_verdict{state="violated"} 1\n' in metrics


def test_batch_that_a_crash_cut_short_runs_again_to_the_same_figures(spark: SparkSession, tmp_path: Path) -> None:
    folder, output = tmp_path / "journal", tmp_path / "out"
    for seed, count in ((7, 5), (8, 9)):
        golden = Golden(folder, seed=seed)
        orders = golden.queue("orders")
        golden.consume(orders, *golden.send(orders, count)[1:])
        golden.close()
        figures = run(spark, folder, output=output)
    (output / "checkpoint" / "commits" / "1").unlink()
    (output / "checkpoint" / "commits" / ".1.crc").unlink(missing_ok=True)
    (output / "figures.json").unlink()
    shutil.rmtree(output / "states" / "1" / "open")

    again = run(spark, folder, output=output)

    assert (again["totals"]["acknowledged"], again["totals"]["deleted"], again["waiting"]) == (14, 12, 2)
    assert again == figures

    (output / "checkpoint" / "commits" / "1").unlink()
    (output / "checkpoint" / "commits" / ".1.crc").unlink(missing_ok=True)
    (output / "states" / "0" / "memory.json").unlink()
    with pytest.raises(Exception, match="states/0, from which the streaming audit continues, is missing"):
        run(spark, folder, output=output)


def test_delete_of_a_node_whose_clock_is_behind_is_no_resurrection(spark: SparkSession, tmp_path: Path) -> None:
    golden = Golden(tmp_path / "journal", seed=9)
    golden.clock.advance_ms(1_000)
    behind = ManualClock(golden.clock.now_ms() - 40)
    other = JournalHere(JournalRules(tmp_path / "journal", "node-behind"), behind, golden.rng)
    orders = golden.queue("orders")
    [message] = golden.send(orders, 1)
    golden.receive(orders, message)
    other.deleted(orders, [message.address])
    other.finish()
    golden.close()

    strict = run(spark, tmp_path / "journal", output=tmp_path / "strict")
    told = run(spark, tmp_path / "journal", output=tmp_path / "told", skew_ms=50)

    assert (strict["totals"]["resurrected"], strict["verdict"]["state"]) == (1, "violated")
    assert (told["totals"]["resurrected"], told["verdict"]["state"]) == (0, "proven")

    golden.journals = [JournalHere(JournalRules(tmp_path / "journal", "node-late"), behind, golden.rng)]
    golden.consume(orders, *golden.send(orders, 1))
    golden.close()
    seen = run(spark, tmp_path / "journal", output=tmp_path / "strict")
    assert seen["verdict"]["state"] == "unproven"
    assert any("or clocks explain it, which differ by 4" in reason for reason in seen["verdict"]["reasons"])


@pytest.mark.slow
def test_stream_refuses_another_version_in_a_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    golden = Golden(tmp_path / "journal", seed=1)
    golden.close()
    path = files_of(tmp_path / "journal")[0].path
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b'{"v":2', b'{"v":9')))
    command = [sys.executable, "-m", "spark_jobs.streaming", str(tmp_path / "journal"), "--once"]

    assert subprocess.run([*command, "--output", str(tmp_path / "out")], check=False).returncode == 2

    told = capfd.readouterr().err
    assert told.strip().splitlines()[-1].startswith("audit: Journal lines of version 9 in file:")
    assert "\tat org.apache.spark" not in told


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_stream_that_was_ended_goes_on_where_it_was(
    spark: SparkSession, tmp_path: Path, number: signal.Signals
) -> None:
    folder, output, told = tmp_path / "journal", tmp_path / "out", tmp_path / "told"
    golden = Golden(folder, seed=10)
    orders = golden.queue("orders")
    golden.consume(orders, *golden.send(orders, 5))
    golden.close()
    command = [sys.executable, "-m", "spark_jobs.streaming", str(folder), "--output", str(output)]
    with told.open("w") as errors:
        stream = subprocess.Popen(command, stderr=errors)
    try:
        until(lambda: (output / "checkpoint" / "commits" / "0").exists() or stream.poll() is not None, within_s=300)
        machine = children_of(stream.pid)
        stream.send_signal(number)
        assert stream.wait(150) == (143 if number == signal.SIGTERM else -number)
        until(lambda: not any(map(runs, machine)), within_s=120)
    finally:
        stream.kill()
    assert ("continues from here" in told.read_text()) == (number == signal.SIGTERM)
    assert "Traceback" not in told.read_text()

    later = Golden(folder, seed=11)
    later.consume(orders, *later.send(orders, 3))
    later.close()
    figures = run(spark, folder, output=output)

    assert (figures["totals"]["acknowledged"], figures["totals"]["deleted"], figures["totals"]["late"]) == (8, 8, 0)
    assert figures["verdict"]["state"] == "proven"
    assert json.loads((output / "states" / "1" / "memory.json").read_text())["files"] != []
    assert not (output / "states" / "2").exists()
