"""`make bench-spark`: how long the audit takes for 1, 10 and 50 million events, and how much memory.

    synthetic journals (one busy queue) ─► audit on local[2] ─► events a second, peak resident memory

Messages are received nearly in order: one in a hundred changes places with one a few places on, and one in ten thousand
comes last. `--order` measures the order alone, of so many messages in one queue at its worst: all in order but for a
first one that comes last, so that one task has them all. The JVM (driver and executor in one, locally) has the heap
that a job gets by default; with two tasks at a time each has half of it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

from benchmarks.spark_memory import SETTINGS, peaks

MILLION = 1_000_000
RESULTS = Path("benchmarks/results")
LINES_A_FILE = 500_000
_HEAD = '{"v":1,"node":"bench","incarnation":"0000000000001","number":'
_QUEUE = ',"account":"000000000000","queue":"orders","uid":7'
_START_MS = 1_790_000_000_000
_SAMPLE_S = 0.2


def main(given: Sequence[str] | None = None) -> None:
    """Prints one line a size, and the ratio of the times per event."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__.partition("\n")[0])
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 10, 50], help="events (default: 1 10 50)")
    parser.add_argument("--folder", type=Path, default=Path("build/bench-spark"), help="where journals are written")
    parser.add_argument("--order", action="store_true", help="measure the order of so many messages in one queue")
    parser.add_argument("--output", type=Path, default=RESULTS, help=f"where figures are added (default: {RESULTS})")
    options = parser.parse_args(given)
    options.output.mkdir(parents=True, exist_ok=True)
    command = shlex.join(["python", "-m", "benchmarks.spark", *(sys.argv[1:] if given is None else given)])
    made = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    kept = options.output / f"spark-{'order' if options.order else 'audit'}-{made}.json"
    figures: list[dict[str, float]] = []
    for millions in options.millions:
        count = int(millions * MILLION)
        figures.append(_ordered(count, options.folder) if options.order else _audited(count, options.folder))
        _print("messages" if options.order else "events", figures[-1], figures[0])
        kept.write_text(json.dumps({"command": command, "made": made, "runs": figures}, indent=1) + "\n")


def _audited(events: int, folder: Path) -> dict[str, float]:
    from spark_jobs.audit import Rules, audit
    from spark_jobs.session import session, settings_for

    journal = folder / "journal"
    shutil.rmtree(folder, ignore_errors=True)
    journal.mkdir(parents=True)
    messages = events // 3
    began_s = time.monotonic()
    write_journal(journal, messages, random.Random(1))
    written_s = time.monotonic() - began_s
    spark = session("bench", "local[2]", settings=settings_for([str(journal)]) | SETTINGS)
    try:
        with peaks(spark) as peak:
            began_s = time.monotonic()
            found = audit(spark, [str(journal)], str(folder / "audit"), Rules(is_drained=True))
            took_s = time.monotonic() - began_s
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    assert found.totals.acknowledged == found.totals.deleted == messages, found.totals
    assert found.verdict.state.value == "proven", found.verdict
    more = {"out_of_order": found.totals.out_of_order, "journal_written_s": round(written_s, 1)}
    return _told(messages * 3, took_s, peak) | more


def _ordered(messages: int, folder: Path) -> dict[str, float]:
    from pyspark.sql import functions as F

    from spark_jobs.order import order_of, places_of
    from spark_jobs.session import session

    shutil.rmtree(folder, ignore_errors=True)
    spark = session("bench", "local[2]", settings=SETTINGS)
    try:
        last = F.when(F.col("id") == 0, messages).otherwise(F.col("id"))
        queue = spark.range(messages).select(F.lit(7).alias("uid"), "id", last.alias("received_at"))
        with peaks(spark) as peak:
            began_s = time.monotonic()
            places = places_of(queue, ["uid"], ["id"], ["received_at"], str(folder))
            [found] = order_of(places, ["uid"], str(folder)).collect()
            took_s = time.monotonic() - began_s
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    assert (found["messages"], found["longest"]) == (messages, messages - 1), found
    assert abs(found["displacement"] - 2 * (messages - 1) / messages) < 1e-9, found
    return _told(messages, took_s, peak)


def _told(count: int, took_s: float, peak: Mapping[str, float]) -> dict[str, float]:
    memory = {name: round(mb) for name, mb in peak.items()}
    return {"count": count, "seconds": round(took_s, 1), "per_s": round(count / took_s), **memory}


def _print(what: str, row: Mapping[str, float], first: Mapping[str, float]) -> None:
    ratio = (row["seconds"] / row["count"]) / (first["seconds"] / first["count"])
    sys.stdout.write(
        f"{row['count']:>12,} {what}  {row['seconds']:8.1f} s  {row['per_s']:>9,.0f} {what}/s"
        f"  time for one x {ratio:.2f}  heap {row['heap_mb']:.0f} of {row['heap_max_mb']:.0f} MB"
        f"  a task's sorts and sums {row['task_mb']:.0f} MB  a Python worker {row['worker_mb']:.0f} MB"
        f"  JVM resident {row['resident_mb']:.0f} MB\n"
    )
    sys.stdout.flush()


def write_journal(folder: Path, messages: int, rng: random.Random) -> None:
    """Sends, receives and deletes of so many messages, closed and whole."""
    order = list(range(messages))
    for place in range(0, messages - 10, 100):
        other = place + rng.randrange(1, 9)
        order[place], order[other] = order[other], order[place]
    late = set(order[5_000::10_000])
    order = [one for one in order if one not in late] + sorted(late)
    lines = _lines(order)
    file, number = 0, 0
    while True:
        file += 1
        text, number, is_more = _file(lines, file, number)
        name = f"bench.20260101T000000.0000000000001.{file:06}.jsonl.gz"
        (folder / name).write_bytes(gzip.compress(text, 1))
        if not is_more:
            return


def _file(lines: Iterator[str], file: int, number: int) -> tuple[bytes, int, bool]:
    number += 1
    parts = [f'{_HEAD}{number},"event":"opened","at_ms":{_START_MS},"file":{file},"sampled":1}}'.encode()]
    for line in lines:
        number += 1
        parts.append(f"{_HEAD}{number}{line}".encode())
        if len(parts) >= LINES_A_FILE:
            break
    is_more = len(parts) >= LINES_A_FILE
    checksum = sum(map(crc32, parts))
    number += 1
    last = "" if is_more else ',"is_last":true'
    closing = f',"event":"closed","at_ms":{_START_MS},"file":{file},"count":{len(parts)},"checksum":{checksum}{last}}}'
    parts.append(f"{_HEAD}{number}{closing}".encode())
    return b"\n".join(parts) + b"\n", number, is_more


def _lines(order: Sequence[int]) -> Iterator[str]:
    """In blocks: a thousand sends, then their share of receives and deletes in the given order."""
    for first in range(0, len(order), 1_000):
        end = min(first + 1_000, len(order))
        for one in range(first, end):
            at_ms = _START_MS + one // 10
            yield (
                f',"event":"sent","at_ms":{at_ms}{_QUEUE},"address":"{_address(one)}","md5":"{one:032x}",'
                f'"bytes":1000,"sent_ms":{at_ms}}}'
            )
        for place in range(first, end):
            one, at_ms = order[place], _START_MS + place // 10 + 150
            yield (
                f',"event":"received","at_ms":{at_ms}{_QUEUE},"address":"{_address(one)}","md5":"{one:032x}",'
                f'"receive_number":{place + 1},"receive_count":1,"received_ms":{at_ms},'
                f'"hidden_until_ms":{at_ms + 30_000}}}'
            )
        for place in range(first, end):
            at_ms = _START_MS + place // 10 + 160
            yield f',"event":"deleted","at_ms":{at_ms}{_QUEUE},"address":"{_address(order[place])}"}}'


def _address(one: int) -> str:
    text = f"{one:012x}"
    return f"{text[:8]}-{text[8:]}-8000-8000-000000000001"


if __name__ == "__main__":
    main()
