"""Parses the commands' arguments, so that an invalid value is reported in one line before Spark is started."""

from __future__ import annotations

import argparse
import fcntl
import math
import os
import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

from spark_jobs.errors import JobError, NoJournal

SPEED_MIN = 0.001
_OURS: dict[Path, TextIO] = {}
"""Folders that this process writes to, and the open lock file that keeps other processes out."""
_HEAP = re.compile(r"[1-9][0-9]*[kmgt]", re.IGNORECASE)
_MASTER = re.compile(r"local|local\[(\*|[1-9][0-9]*)(, *[0-9]+)?\]|local-cluster\[.+\]|yarn|(spark|k8s|mesos)://.+")


class NoOutput(JobError):
    """The output folder can't be written to."""


def duration_ms(text: str) -> int:
    """0 or more. Raises argparse.ArgumentTypeError, like the other argparse types here."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of milliseconds")
    return int(text)


def count(text: str) -> int:
    """0 or more."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a count")
    return int(text)


def count_of_some(text: str) -> int:
    """1 or more."""
    if not (number := count(text)):
        raise argparse.ArgumentTypeError("at least 1 is needed")
    return number


def span_ms(text: str) -> int:
    """1 or more."""
    if not (length := duration_ms(text)):
        raise argparse.ArgumentTypeError("a span is at least one millisecond")
    return length


def speed(text: str) -> float:
    """A factor of SPEED_MIN or more; 0 = without pauses."""
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if factor and not (SPEED_MIN <= factor < math.inf):
        raise argparse.ArgumentTypeError(f"{text!r} is not a speed: 2 is twice as fast, 0 as fast as possible")
    return factor


def endpoint(text: str) -> str:
    """A server's URL."""
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise argparse.ArgumentTypeError(f"{text!r} is no URL of a server: give one such as http://127.0.0.1:9324")
    return text


def heap(text: str) -> str:
    """A heap size, as the JVM parses it."""
    if not _HEAP.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a heap size: give one such as 512m or 2g")
    return text


def master(text: str) -> str:
    """Where Spark runs, as it parses it."""
    if not _MASTER.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no Spark master: give one such as local[2], spark://HOST:7077 or yarn"
        )
    return text


def refuse_missing(folders: Iterable[str]) -> None:
    """Raises NoJournal for a local folder that does not exist, or is not a journal but has one in it, as a data
    directory and the output of `make audit` have."""
    for folder in (Path(folder) for folder in folders if "://" not in folder):
        if not folder.is_dir():
            raise NoJournal(f"{folder} is not a folder: name the one that `cqs serve --journal full` writes to.")
        inside = next((path for path in (folder / "journal", folder / "data" / "journal") if path.is_dir()), None)
        if inside is not None and not any(folder.glob("*.jsonl*")):
            raise NoJournal(f"{folder} has no journal files: name {inside}, which is in it.")


def literal(path: str) -> str:
    """The path, escaped for Spark's readers, which would treat these characters as a pattern."""
    return re.sub(r"[\\\[\]{}*?]", r"\\\g<0>", path)


def pattern_of(folders: Sequence[str]) -> str:
    """One pattern that matches all the folders, because a stream has one path. Raises JobError when they have nothing
    in common."""
    places = sorted({folder if "://" in folder else literal(os.path.realpath(folder)) for folder in folders})
    if len(places) == 1:
        return places[0]
    steps = [place.split("/") for place in places]
    same = [names[0] for names in takewhile(lambda names: len(set(names)) == 1, zip(*steps, strict=False))]
    if len(same) < (3 if "://" in places[0] else 1):
        raise JobError(f"{', '.join(places)} are on different file systems: start one stream for each.")
    shared = min(len(same), *(len(names) - 1 for names in steps))
    rest = ",".join("/".join(names[shared:]).replace(",", r"\,") for names in steps)
    return f"{'/'.join(same[:shared])}/{{{rest}}}"


def make_output(folder: str) -> Path:
    """Creates the folder if missing, and locks it for this process until it ends. Raises NoOutput."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        place = path.resolve()
        if place not in _OURS:
            lock = (place / ".lock").open("w")
            _OURS[place] = lock
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _OURS.pop(place).close()
        raise NoOutput(
            f"Another run writes to {folder}: wait until it has ended, or name another folder with --output."
        ) from None
    except OSError as error:
        raise NoOutput(
            f"{folder} can't be written to ({error.strerror}): name another folder with --output."
        ) from error
    return path
