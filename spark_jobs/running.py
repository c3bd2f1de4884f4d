"""Audits running servers in an order that proves something:

    the store is read ──► a margin later ──► the journals are read
         began, ended        all is logged      once it is written

A delete is logged after it was done. The delay depends on how slow its server is: a store that has not answered, an
unavailable cache, a busy event loop. The margin covers this delay, and nothing is judged that happened less than a
margin before the store was read. Clock differences are added to it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame

from spark_jobs.arguments import duration_ms
from spark_jobs.errors import JobError
from spark_jobs.open_files import behind
from spark_jobs.reach import RETENTION_MS, Reach
from spark_jobs.staged import staged
from spark_jobs.window import Window, moment_text

MARGIN_MS = 30_000
BEAT_MS = 15_000
"""An idle server logs a sign of life every ten seconds, and its recorder writes it soon after."""
WRITTEN_S_MAX = 120.0
_LOOK_S = 0.5
_AGO = re.compile(r"([1-9][0-9]{0,5})([smhd])")
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class BadWindow(JobError):
    """Nothing can be proven about that time, yet or at all."""


class NotFetched(JobError):
    """The journals of other machines could not be fetched."""


def add_window_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds when what is audited begins and ends."""
    for name, text in (("since", "the journal's beginning"), ("until", "as late as can be proven")):
        parser.add_argument(
            f"--{name}",
            type=moment,
            metavar="TIME",
            help=f"audit running servers {name} this time: 2026-11-29T06:00:00Z, or 8h = 8 hours ago (default: {text})",
        )
    parser.add_argument(
        "--margin-ms",
        type=duration_ms,
        default=MARGIN_MS,
        help=f"how much later than it happened an event may be written (default: {MARGIN_MS})",
    )
    parser.add_argument(
        "--retention",
        type=length_ms,
        default=RETENTION_MS,
        metavar="SPAN",
        help="the longest retention period that any queue had: journal files that are further from the window are not "
        "read (default: 14d, the longest possible)",
    )
    parser.add_argument(
        "--fetch",
        default="",
        metavar="COMMAND",
        help="command that fetches other machines' journals after reading the store: 'rsync -a api-2:…/journal/ api-2'",
    )


def moment(text: str) -> Callable[[int], int]:
    """Returns a function from the current time to the given time, both in ms. Raises argparse.ArgumentTypeError."""
    if _AGO.fullmatch(text):
        ago_ms = length_ms(text)
        return lambda now_ms: now_ms - ago_ms
    try:
        told = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-11-29T06:00:00Z or 8h") from error
    if told.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} names no time zone: add Z or an offset such as +01:00")
    at_ms = int(told.timestamp() * 1_000)
    return lambda _: at_ms


def length_ms(text: str) -> int:
    """A span such as 4d. Raises argparse.ArgumentTypeError."""
    if not (told := _AGO.fullmatch(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a span such as 4d or 36h")
    return int(told[1]) * _UNITS_MS[told[2]]


@dataclass(frozen=True, slots=True)
class Asked:
    """The window options."""

    since: Callable[[int], int] | None
    until: Callable[[int], int] | None
    margin_ms: int
    skew_ms: int
    retention_ms: int = RETENTION_MS

    @staticmethod
    def of(options: argparse.Namespace) -> Asked | None:
        """None: no window was requested. Raises BadWindow."""
        if options.since is None and options.until is None:
            if options.fetch:
                raise BadWindow("--fetch requires --since or --until: stopped servers write nothing more.")
            return None
        return Asked(options.since, options.until, options.margin_ms, options.clock_skew_ms, options.retention)

    def window(self, began_ms: int, ended_ms: int | None) -> Window:
        """`began_ms`: when reading the store began, or the current time; `ended_ms`: when it ended, None without a
        store. Raises BadWindow."""
        latest_ms = began_ms - self.margin_ms - self.skew_ms
        since_ms = self.since(began_ms) if self.since else 0
        until_ms = self.until(began_ms) if self.until else latest_ms
        for option, end_ms in (("--until", until_ms), ("--since", since_ms)):
            if end_ms > latest_ms:
                raise BadWindow(
                    f"{option} {moment_text(end_ms)} is too late: what happened after {moment_text(latest_ms)} may "
                    "not be logged yet (--margin-ms, --clock-skew-ms)."
                )
        if since_ms > until_ms:
            raise BadWindow(f"--since {moment_text(since_ms)} is after --until {moment_text(until_ms)}.")
        needed_ms = max(until_ms, ended_ms or 0) + self.margin_ms
        reach = Reach.of(since_ms, until_ms, self.retention_ms, self.skew_ms, has_store=ended_ms is not None)
        return Window(since_ms, until_ms, needed_ms, self.skew_ms, reach)


def read_in_order(
    stored: Callable[[], DataFrame | None], asked: Asked, folders: Sequence[str], stage: str, fetch: str = ""
) -> tuple[DataFrame | None, Window]:
    """Reads what is stored now and determines the window; returns both when the journals in these folders may be read.
    `fetch`: a command that fetches those of other machines. `stage` is a folder for intermediate files. Raises
    BadWindow, NotFetched, and what `stored` raises."""
    began_ms = now_ms()
    asked.window(began_ms, None)
    rows = stored()
    if rows is not None:
        rows = staged(rows, stage)
    window = asked.window(began_ms, None if rows is None else now_ms())
    _await(window.needed_ms + window.skew_ms + (BEAT_MS if fetch else 0))
    if fetch:
        _run(fetch)
    _await_written(folders, window.needed_ms + window.skew_ms)
    return rows, window


def _await(at_ms: int) -> None:
    if (left_ms := at_ms - now_ms()) > 0:
        sys.stderr.write(f"audit: reading the journals in {left_ms / 1_000:.0f} s, once every event has been written\n")
        time.sleep(left_ms / 1_000)


def _await_written(folders: Sequence[str], at_ms: int) -> None:
    """Waits until everything that local servers logged by then is written; gives up on a server that seems stuck."""
    give_up_s = time.monotonic() + WRITTEN_S_MAX
    while late := behind(folders, at_ms + 1):
        if time.monotonic() > give_up_s:
            sys.stderr.write(f"audit: {', '.join(late)} is not being written any more\n")
            return
        time.sleep(_LOOK_S)


def _run(command: str) -> None:
    if code := subprocess.run(command, shell=True, check=False).returncode:
        raise NotFetched(f"{command} ended with {code}: without those journals nothing can be proven.")


def refuse_ahead(latest_ms: int, skew_ms: int) -> None:
    """Raises BadWindow when the latest line is in the future, because then it is unknown what has been logged."""
    if (ahead_ms := latest_ms - now_ms()) > skew_ms:
        raise BadWindow(f"A node's clock is {ahead_ms} ms ahead of this one: set it, or --clock-skew-ms {ahead_ms}.")


def now_ms() -> int:
    """By this machine's clock."""
    return time.time_ns() // 1_000_000
