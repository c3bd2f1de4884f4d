"""Half of `make bench-spark`: the time and memory of the audit for 1, 10 and 50 million events.

    synthetic journals (one busy queue) ─► audit on local[2] ─► events per second, peak resident memory

Messages are received nearly in order: one in a hundred is swapped with one a few positions later, and one in ten
thousand comes last. `--order` measures only the order metrics, for that many messages in one queue in the worst case:
all in order except that the first comes last, so that one task has all of them. The JVM (locally driver and executor in
one) has the default heap of a job; two concurrent tasks have half of it each.
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
from typing import Any
from zlib import crc32

import msgspec

from benchmarks.spark_memory import SETTINGS, peaks

MILLION = 1_000_000
RESULTS = Path("benchmarks/results")
EVENTS_A_FILE = 500_000
EVENTS_A_LINE = 333
"""A third of a frame of the recorder; its other lines are the receives and the deletes."""
_HEAD = {"v": 2, "node": "bench", "incarnation": "0000000000001"}
_QUEUE: dict[str, list[Any]] = {"account": ["000000000000"], "queue": ["orders"], "uid": [7]}
_START_MS = 1_790_000_000_000
_SAMPLE_S = 0.2
_Line = tuple[str, dict[str, list[Any]]]
"""Event and columns of a line."""


def main(given: Sequence[str] | None = None) -> None:
    """Prints one line per size, and the ratio of the times per event."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__.partition("\n")[0])
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 10, 50], help="events (default: 1 10 50)")
    parser.add_argument("--folder", type=Path, default=Path("build/bench-spark"), help="where journals are written")
    parser.add_argument("--order", action="store_true", help="measure only the order metrics, in one queue")
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
    """Writes a complete, closed journal of sends, receives and deletes of that many messages."""
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


def _file(lines: Iterator[_Line], file: int, before: int) -> tuple[bytes, int, bool]:
    """Returns a file's text, the number of its last event, and whether it is full."""
    texts: list[bytes] = []
    number, is_full = before, False

    def add(event: str, columns: dict[str, list[Any]], **more: int | bool) -> None:
        nonlocal number
        size = len(columns["at_ms"])
        numbers = list(range(number + 1, number + size + 1))
        texts.append(msgspec.json.encode({**_HEAD, "event": event, "number": numbers, **columns, **more}))
        number += size

    add("opened", {"at_ms": [_START_MS]}, file=file, sampled=1)
    for event, columns in lines:
        add(event, columns | _QUEUE)
        if number - before >= EVENTS_A_FILE:
            is_full = True
            break
    checksum = sum(map(crc32, texts))
    closing = {"at_ms": [_START_MS], "count": [number - before]}
    add("closed", closing, file=file, checksum=checksum, is_last=not is_full)
    return b"\n".join(texts) + b"\n", number, is_full


def _lines(order: Sequence[int]) -> Iterator[_Line]:
    """Yields alternately some sends, then as many receives and deletes in the given order."""
    for first in range(0, len(order), EVENTS_A_LINE):
        places = range(first, min(first + EVENTS_A_LINE, len(order)))
        at_ms = [_START_MS + place // 10 for place in places]
        received_ms = [at + 150 for at in at_ms]
        received = [order[place] for place in places]
        yield "sent", {"at_ms": at_ms, **_content(places), "bytes": [1_000], "sent_ms": at_ms}
        yield (
            "received",
            {
                "at_ms": received_ms,
                **_content(received),
                "receive_number": [place + 1 for place in places],
                "receive_count": [1],
                "received_ms": received_ms,
                "hidden_until_ms": [at + 30_000 for at in received_ms],
            },
        )
        yield "deleted", {"at_ms": [at + 160 for at in at_ms], "address": [*map(_address, received)]}


def _content(ones: Sequence[int]) -> dict[str, list[Any]]:
    return {"address": [*map(_address, ones)], "md5": [f"{one:032x}" for one in ones]}


def _address(one: int) -> str:
    text = f"{one:012x}"
    return f"{text[:8]}-{text[8:]}-8000-8000-000000000001"


if __name__ == "__main__":
    main()
