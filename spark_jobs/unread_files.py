"""Finds the files of a journal that Spark passes over in silence: those that it can't read, and is told to skip, and
those that it takes for hidden."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

from spark_jobs.gaps import Gap, GapKind
from spark_jobs.open_files import FINISHED

_HIDDEN = ("_", ".")


def hidden_in(folders: Sequence[str]) -> set[str]:
    """Paths of the files in these local folders, finished or not, that Spark takes for hidden."""
    here = [Path(folder) for folder in folders if "://" not in folder]
    hidden = [path for folder in here for path in folder.iterdir() if path.name.startswith(_HIDDEN)]
    return {f"file:{path}" for path in hidden if path.name.endswith((".jsonl.gz", ".jsonl.open", ".jsonl"))}


class UnreadFiles:
    """The finished files in these local folders that contain not even one line that can be read, such as empty ones. A
    file is opened until it has been found readable once."""

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
