"""`make audit` and `make audit-cluster` end to end: start, play, audit, reconcile, report."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.process import until
from tests.needs import needs
from tests.spark.golden import Golden

pytestmark = [needs("java"), pytest.mark.slow, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
NOTHING_STORED = {"stored": 0, "lost": 0, "orphans": 0, "still_stored": 0, "corrupted": 0}
LAST_LINE = re.compile(
    r"verdict: acknowledged (\d+) lost 0 duplicates \d+ \(λ \S+\) out-of-order \S+% displacement \S+ proven "
    r"report (\S+)"
)


def run(*arguments: str) -> tuple[int, str]:
    """Returns the number of acknowledged messages and the path of the report."""
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2_000:]
    told = LAST_LINE.fullmatch(done.stdout.strip().splitlines()[-1])
    assert told is not None, done.stdout
    return int(told.group(1)), told.group(2)


def test_recorded_journal_is_played_on_a_server_of_its_own_and_proven(tmp_path: Path) -> None:
    golden = Golden(tmp_path / "journal", seed=4)
    golden.send(golden.queue("orders"), 30)
    golden.send(golden.queue("payments.fifo"), 10, group="g")
    golden.close()

    journal, output = str(tmp_path / "journal"), str(tmp_path / "audit")
    acknowledged, report = run("spark_jobs.proof", "--recorded", journal, "--speed", "0", "--output", output)

    assert acknowledged == 40
    assert report == f"{output}/report.html"
    figures = json.loads((tmp_path / "audit" / "report.json").read_text())
    assert figures["jepsen"]["ok"] == 40
    assert {row["queue"].rpartition("-")[2] for row in figures["tables"]["queues"]} == {"0", "0.fifo"}


def test_faults_of_a_workload_file_are_accounted_for_one_by_one(tmp_path: Path) -> None:
    from pyarrow import parquet

    output = tmp_path / "audit"

    acknowledged, report = run("spark_jobs.proof", "--workload", "examples/workload.toml", "--output", str(output))

    figures = json.loads((output / "report.json").read_text())
    rows = parquet.read_table(output / "observations", columns=["event", "outcome"]).to_pylist()
    seen = Counter((row["event"], row["outcome"]) for row in rows)
    duplicates, quits = figures["totals"]["duplicates"], seen["delete", "quit"]
    sent_again = figures["totals"]["found"]["sent again"]
    again = seen["receive", "ok"] - acknowledged
    assert again >= quits > 0, "each that quit, and on a slow machine each that deleted too late"
    assert again <= duplicates <= again + seen["receive", "dropped"]
    assert figures["tables"]["redeliveries"] == [{"reason": "timeout ran out", "count": duplicates}]
    assert figures["totals"]["found"] == {"sent again": sent_again}
    assert acknowledged == 240 + sent_again == figures["totals"]["deleted"]
    assert sent_again <= seen["send", "dropped"]
    clients = figures["jepsen"]
    assert (clients["attempts"], clients["ok"], clients["duplicated"]) == (240, 240, again + sent_again)
    assert (clients["lost"], clients["unexpected"], clients["corrupted"]) == (0, 0, 0)
    assert [row["acknowledged"] for row in figures["tables"]["runs"]] == [acknowledged]
    assert figures["store"] == NOTHING_STORED
    dropped = sum(count for (_, outcome), count in seen.items() if outcome == "dropped")
    assert "unknown" not in {outcome for _, outcome in seen}
    page = Path(report).read_text()
    assert f"receivers quit before they delete, with probability 0.08: {quits} did" in page
    assert f"calls lose their request or their answer, with probability 0.08: {dropped} did" in page


def test_interrupted_run_ends_its_server_and_says_that_nothing_is_proven(tmp_path: Path) -> None:
    load, told = tmp_path / "long.toml", tmp_path / "told"
    load.write_text('name = "long"\nmessages = 100_000\nsend_rate = 20.0\n')
    command = [sys.executable, "-m", "spark_jobs.proof", "--workload", str(load), "--messages", "0"]
    with told.open("w") as errors:
        run = subprocess.Popen([*command, "--output", str(tmp_path / "audit")], cwd=ROOT, stderr=errors)
    try:
        until(lambda: "send ok" in told.read_text() or run.poll() is not None, within_s=120)
        run.send_signal(signal.SIGINT)
        assert run.wait(150) == 128 + signal.SIGINT
    finally:
        run.kill()

    assert "audit: interrupted, and nothing is proven\n" in told.read_text()
    assert "Traceback" not in told.read_text()
    assert '"event":"stopped"' in (tmp_path / "audit" / "server.log").read_text()


@needs("java", "mvn", "redis-server")
def test_cluster_of_two_nodes_is_proven_from_both_journals_and_the_keyspace(tmp_path: Path) -> None:
    output = tmp_path / "audit"

    acknowledged, _ = run("benchmarks.cluster_audit", "--messages", "100", "--output", str(output))

    assert acknowledged == 100
    figures = json.loads((output / "report.json").read_text())
    assert figures["store"] == NOTHING_STORED
    nodes = {path.parent.parent.name for path in output.glob("data/*/journal/*.jsonl.gz")}
    assert nodes == {"node-1", "node-2"}
    assert len(figures["integrity"]["kept"]) >= 2


@needs("java", "redis-server")
def test_example_that_kills_redis_with_messages_in_flight_ends_with_a_proof() -> None:
    done = subprocess.run(
        [sys.executable, "examples/kill_redis.py", "240"], capture_output=True, text=True, check=False, cwd=ROOT
    )

    lines = done.stdout.strip().splitlines()
    told = LAST_LINE.fullmatch(lines[-1])
    assert done.returncode == 0, done.stderr[-2_000:]
    assert lines[0] == "240 sent, 200 in flight, Redis killed"
    assert told and told[1] == "240" and "duplicates 0 " in lines[-1]
    shutil.rmtree(Path(told[2]).parents[1])
