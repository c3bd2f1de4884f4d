"""`make bench-spark`: how long the audit takes for 1, 10 and 50 million events, and how much memory.

    synthetic journals (one busy queue) ─► audit on local[2] ─► events a second, peak resident memory

Messages are received nearly in order: one in a hundred changes places with one a few places on, and one in ten thousand
comes last. Memory is sampled: the JVM (driver and executors in one, locally) and the largest Python worker.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from benchmarks import proc

MILLION = 1_000_000
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
    parser.add_argument("--output", type=Path, help="also write the figures there, as JSON")
    options = parser.parse_args(given)
    figures: list[dict[str, float]] = []
    for millions in options.millions:
        figures.append(_measured(int(millions * MILLION), options.folder))
        _print(figures[-1], figures[0])
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1))


def _measured(events: int, folder: Path) -> dict[str, float]:
    from spark_jobs.audit import Rules, audit
    from spark_jobs.session import session

    journal = folder / "journal"
    shutil.rmtree(folder, ignore_errors=True)
    journal.mkdir(parents=True)
    messages = events // 3
    write_journal(journal, messages, random.Random(1))
    spark = session("bench", "local[2]")
    try:
        with _memory() as peak:
            began_s = time.monotonic()
            found = audit(spark, [str(journal)], str(folder / "audit"), Rules(is_drained=True))
            took_s = time.monotonic() - began_s
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    assert found.totals.acknowledged == found.totals.deleted == messages, found.totals
    assert found.verdict.state.value == "proven", found.verdict
    return {
        "events": messages * 3,
        "seconds": round(took_s, 1),
        "events_per_s": round(messages * 3 / took_s),
        "out_of_order": found.totals.out_of_order,
        "jvm_mb": peak["jvm"],
        "worker_mb": peak["worker"],
    }


def _print(row: dict[str, float], first: dict[str, float]) -> None:
    ratio = (row["seconds"] / row["events"]) / (first["seconds"] / first["events"])
    sys.stdout.write(
        f"{row['events']:>12,} events  {row['seconds']:8.1f} s  {row['events_per_s']:>9,.0f} events/s  "
        f"time an event x {ratio:.2f}  JVM {row['jvm_mb']:.0f} MB  largest worker {row['worker_mb']:.0f} MB\n"
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
    closing = f',"event":"closed","at_ms":{_START_MS},"file":{file},"count":{len(parts)},"checksum":{checksum}}}'
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


@contextmanager
def _memory() -> Iterator[dict[str, float]]:
    """Peak resident MB of `jvm` and of the largest `worker`, while the block runs."""
    peak = {"jvm": 0.0, "worker": 0.0}
    ending = threading.Event()

    def watch() -> None:
        while not ending.wait(_SAMPLE_S):
            for name, resident_mb in proc.below(os.getpid()):
                kind = "jvm" if name == "java" else "worker"
                peak[kind] = max(peak[kind], resident_mb)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        ending.set()
        thread.join()


if __name__ == "__main__":
    main()
