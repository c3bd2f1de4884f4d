"""What the audit of one day costs when the journal has thirty, against the audit that reads all of it.

    day 1 … 15 │ 16 … 24 │ 25 … 29 │ 30         --since day 30: with --retention 14d from day 15, with 4d from day 25
                                    └─ judged

Each audit is a command of its own, by turns; their CPU time includes the JVM's.
"""

from __future__ import annotations

import argparse
import ctypes
import gzip
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from benchmarks.spark import RESULTS
from cqs.journal.files import name_of

DAY_MS = 86_400_000
START_MS = 1_790_000_000_000
CALL = 300
"""Messages per line."""
_INCARNATION = "0000000000001"
_HEAD = {"v": 2, "node": "bench", "incarnation": _INCARNATION}
_QUEUE: dict[str, list[Any]] = {"account": ["000000000000"], "queue": ["orders"], "uid": [7]}
_BECOME_SUBREAPER = 36
_LONG = "60d"
"""A retention that reaches all days."""


def main(given: Sequence[str] | None = None) -> None:
    """Prints one line per audit, and ratios to the one that reads everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_window", description=__doc__.partition("\n")[0])
    parser.add_argument("--days", type=int, default=30, help="of the journal (default: 30)")
    parser.add_argument("--thousands", type=int, default=200, help="thousand events a day (default: 200)")
    parser.add_argument("--rounds", type=int, default=1, help="of all audits (default: 1)")
    parser.add_argument("--folder", type=Path, default=Path("build/bench-window"), help="where the journal is written")
    options = parser.parse_args(given)
    journal = options.folder / "journal"
    shutil.rmtree(options.folder, ignore_errors=True)
    journal.mkdir(parents=True)
    write_days(journal, options.days, options.thousands * 1_000 // 3)
    ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
    runs = [
        _audited(journal, options.folder / "audit", options.days, retention)
        for _ in range(options.rounds)
        for retention in (_LONG, "14d", "4d")
    ]
    made = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    command = shlex.join(["python", "-m", "benchmarks.spark_window", *(sys.argv[1:] if given is None else given)])
    text = json.dumps({"command": command, "made": made, "runs": runs}, indent=1)
    (RESULTS / f"spark-window-{made}.json").write_text(text + "\n")
    shutil.rmtree(options.folder)
    for run, whole in ((run, runs[place - place % 3]) for place, run in enumerate(runs)):
        cost = f"{run['cpu_s']:6.1f} s of CPU ({run['cpu_s'] / whole['cpu_s']:.2f}), {run['seconds']:6.1f} s"
        sys.stdout.write(f"--retention {run['retention']:>4}: {run['events']:>10,} events  {cost}\n")


def _audited(journal: Path, output: Path, days: int, retention: str) -> dict[str, Any]:
    since, until = (
        f"{datetime.fromtimestamp((START_MS + day * DAY_MS) / 1_000, UTC):%FT%TZ}" for day in (days - 1, days)
    )
    window = ["--since", since, "--until", until, "--retention", retention, "--all-nodes"]
    before, began_s = _cpu_s(), time.monotonic()
    command = [sys.executable, "-m", "spark_jobs", str(journal), "--output", str(output), *window]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    took_s = time.monotonic() - began_s
    while _has_children():
        os.wait()
    figures = json.loads((output / "report.json").read_text())
    return {
        "retention": retention,
        "verdict": told.strip().partition(" report ")[0],
        "events": figures["integrity"]["lines"],
        "unread": figures["unread"],
        "cpu_s": round(_cpu_s() - before, 1),
        "seconds": round(took_s, 1),
    }


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _has_children() -> bool:
    return bool(Path(f"/proc/self/task/{os.getpid()}/children").read_text().strip())


def write_days(folder: Path, days: int, messages: int) -> None:
    """Writes a closed journal of one file a day, each with that many messages, sent, received and deleted."""
    number = 0
    for day in range(days):
        from_ms = START_MS + day * DAY_MS
        texts: list[bytes] = []
        before = number
        kinds = _day(from_ms, messages, day * messages)
        for event, columns in [("opened", {"at_ms": [from_ms]}), *kinds]:
            numbers = list(range(number + 1, number + 1 + len(columns["at_ms"])))
            head = _HEAD | ({"file": day + 1, "sampled": 1} if event == "opened" else _QUEUE)
            texts.append(msgspec.json.encode({**head, "event": event, "number": numbers, **columns}))
            number = numbers[-1]
        number += 1
        closing = {"number": [number], "at_ms": [from_ms + DAY_MS - 1], "count": [number - before - 1]}
        checked = {"file": day + 1, "checksum": sum(map(crc32, texts)), "is_last": day == days - 1}
        texts.append(msgspec.json.encode({**_HEAD, "event": "closed", **closing, **checked}))
        path = folder / name_of("bench", _INCARNATION, START_MS, day + 1).replace(".open", ".gz")
        path.write_bytes(gzip.compress(b"\n".join(texts) + b"\n", 1))
        os.utime(path, (from_ms // 1_000 + DAY_MS // 1_000,) * 2)


def _day(from_ms: int, messages: int, before: int) -> Iterator[tuple[str, dict[str, list[Any]]]]:
    """Lines of a day, spread over it: by turns sends, receives and deletes of CALL messages."""
    pause_ms = (DAY_MS - 60_000) // messages
    for first in range(0, messages, CALL):
        at_ms = [from_ms + one * pause_ms for one in range(first, min(first + CALL, messages))]
        came_ms = [at + 150 for at in at_ms]
        content = {
            "address": [_address(at) for at in at_ms],
            "md5": [f"{before + first + place:032x}" for place in range(len(at_ms))],
        }
        places = [before + first + place + 1 for place in range(len(at_ms))]
        yield "sent", {"at_ms": at_ms, **content, "bytes": [1_000], "sent_ms": at_ms}
        receives = {"receive_number": places, "receive_count": [1], "received_ms": came_ms}
        yield (
            "received",
            {"at_ms": came_ms, **content, **receives, "hidden_until_ms": [at + 30_000 for at in came_ms]},
        )
        yield "deleted", {"at_ms": [at + 160 for at in at_ms], "address": content["address"]}


def _address(at_ms: int) -> str:
    text = f"{at_ms << 6:012x}"
    return f"{text[:8]}-{text[8:]}-8000-8000-000000000001"


if __name__ == "__main__":
    main()
