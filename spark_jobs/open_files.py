"""Reads files of a journal while servers are writing to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from cqs.events import EventName
from spark_jobs.gaps import Gap, GapKind
from spark_jobs.held import is_held

OPEN, FINISHED = "*.jsonl.open", "*.jsonl.gz"
OF_THE_RECORDER = (EventName.OPENED, EventName.CLOSED, EventName.DROPPED_EVENTS, EventName.PRUNED)
"""Lines that a journal logs about itself, with the time of its recorder, which may lag behind its server."""
_TAIL_BYTES = 1 << 20


def copied(folders: Sequence[str], place: Path) -> list[str]:
    """Folders below `place` with copies of the currently open files of these local folders, cut to whole lines. A
    listing made afterwards has every file: one that was finished in the meantime appears in both forms, of which the
    complete one counts. Raises OSError."""
    found: list[str] = []
    for number, folder in enumerate(folders):
        here = place / str(number)
        for path in _open_in([folder]):
            with suppress(FileNotFoundError):
                text = path.read_bytes()
                here.mkdir(parents=True, exist_ok=True)
                (here / path.name).write_bytes(text[: text.rfind(b"\n") + 1])
        if here.is_dir():
            found.append(str(here))
    return found


def behind(folders: Sequence[str], at_ms: int) -> list[str]:
    """Names of files that local processes are writing to, and that contain no event of that time or later yet."""
    return [path.name for path in _open_in(folders) if is_held(path) and _told_ms(path) < at_ms]


def left(folders: Sequence[str], before_ms: int) -> list[Gap]:
    """The gaps of servers that were killed and not started again: their last files in these local folders have no
    end, no process is writing to them or to others of the same incarnation, and what they contain is older than that
    time. A copy of a running server's file is no gap as long as it is renewed: an idle server, too, writes that it is
    alive."""
    unended = [(path, *_writer_of(path), _told_ms(path)) for path in _open_in(folders)]
    alive = {(node, name) for path, node, name, told_ms in unended if told_ms >= before_ms or is_held(path)}
    return [
        Gap(GapKind.NO_END, node, incarnation, f"file:{path}", None, told_ms or None, None)
        for path, node, incarnation, told_ms in unended
        if (node, incarnation) not in alive and path.exists()
    ]


def _open_in(folders: Iterable[str]) -> list[Path]:
    return [path for folder in folders if "://" not in folder for path in sorted(Path(folder).glob(OPEN))]


def _writer_of(path: Path) -> tuple[str, str]:
    """The node and incarnation that its first line names; "" if it has none."""
    with suppress(FileNotFoundError, ValueError, LookupError, TypeError), path.open("rb") as file:
        line = json.loads(file.readline())
        return str(line["node"]), str(line["incarnation"])
    return "", ""


def _told_ms(path: Path) -> int:
    """Time of the latest event that the server itself logged; 0 if there is none, or if the file is gone."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        for text in reversed(file.read().split(b"\n")[:-1]):
            with suppress(ValueError, LookupError, TypeError):
                line = json.loads(text)
                if line["event"] not in OF_THE_RECORDER:
                    return int(line["at_ms"][-1])
    return 0
