"""Finds the finished files of a journal that Spark passes over in silence: it skips files that it can't read, as this
audit tells it to, and those whose names begin with "_" or "."."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

from spark_jobs.events import FINISHED
from spark_jobs.gaps import Gap, GapKind

_HIDDEN = ("_", ".")


class UnreadFiles:
    """The files in these local folders that contain not even one line that can be read, such as empty ones. A file is
    opened until it has been found readable once."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = [Path(folder) for folder in folders if "://" not in folder]
        self._readable: set[Path] = set()

    def gaps(self) -> list[Gap]:
        """One for each such file that is there now."""
        paths = [path for folder in self._folders for path in sorted(folder.glob(FINISHED))]
        self._readable = {path for path in paths if path in self._readable or _is_read(path)}
        unread = [path for path in paths if path not in self._readable]
        return [Gap(GapKind.UNREADABLE, "", "", f"file:{path}", None, None, None) for path in unread]


def _is_read(path: Path) -> bool:
    """Whether Spark gets a line of it. Also true for a file that is gone."""
    if path.name.startswith(_HIDDEN):
        return False
    try:
        with gzip.open(path) as file:
            return file.readline() != b""
    except FileNotFoundError:
        return True
    except (OSError, EOFError, zlib.error):
        return False
