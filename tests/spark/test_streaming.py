"""The streaming audit: in parts, restarted, with late events, and each time the same as the audit of everything."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqs.journal.files import files_of
from tests.spark.golden import Golden

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(spark: SparkSession, folder: Path, output: Path, *, delay_ms: int = 600_000) -> dict[str, Any]:
    from spark_jobs.streaming import start

    start(spark, str(folder), str(output), is_once=True, delay_ms=delay_ms).awaitTermination()
    figures: dict[str, Any] = json.loads((output / "figures.json").read_text())
    return figures


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
    run(spark, part, tmp_path / "out")

    shutil.copy(written[1], part)
    shutil.copy(written[1], part / written[1].name.replace("node-b", "a-copy"))
    figures = run(spark, part, tmp_path / "out")

    totals = figures["totals"]
    assert (totals["acknowledged"], totals["received"], totals["deleted"]) == (10, 6, 6)
    assert (totals["corrupted"], totals["duplicates"], figures["waiting"]) == (1, 1, 4)
    assert totals["late"] == 0
    assert figures["verdict"]["state"] == "violated"
    assert figures["gaps"] == []
    metrics = (tmp_path / "out" / "cqs_audit.prom").read_text()
    assert f'cqs_audit_acknowledged{{account="{"1" * 12}",queue="orders"}} 10\n' in metrics
    assert 'cqs_audit_verdict{state="violated"} 1\n' in metrics


def test_ended_messages_leave_the_state_and_what_comes_later_is_late(spark: SparkSession, tmp_path: Path) -> None:
    folder, output = tmp_path / "journal", tmp_path / "out"
    golden = Golden(folder, seed=4)
    orders = golden.queue("orders")
    messages = golden.send(orders, 5)
    golden.consume(orders, *messages[:3])
    golden.tick(60_000)
    golden.send(orders, 1)
    golden.close()
    figures = run(spark, folder, output, delay_ms=30_000)
    assert (figures["totals"]["acknowledged"], figures["waiting"]) == (6, 3)
    assert spark.read.parquet(str(output / "states" / "0" / "open")).count() == 3

    later = Golden(folder, seed=5)
    later.clock.advance_ms(60_200)
    later.delete(orders, messages[0])
    later.consume(orders, messages[3])
    later.tick(60_000)
    later.send(orders, 1)
    later.close()
    figures = run(spark, folder, output, delay_ms=30_000)

    totals = figures["totals"]
    assert (totals["acknowledged"], totals["deleted"], totals["late"], figures["waiting"]) == (7, 4, 1, 3)
