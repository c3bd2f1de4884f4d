"""One incarnation's files, one after the other. Belongs to the recorder. Raises OSError and stays usable: what a failed
write left in the file is cut off, so that a line is complete or absent."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from cqs.clock import Clock
from cqs.events import EventName
from cqs.file_lock import wait_for_lock
from cqs.journal import files
from cqs.journal.lines import Encoded, Numberer


class Writer:
    """Writes encoded lines to the current file, and opens, closes and finishes files."""

    def __init__(
        self, folder: Path, numberer: Numberer, clock: Clock, *, file_bytes_max: int, file_age_ms: int
    ) -> None:
        self._folder = folder
        self._numberer = numberer
        self._clock = clock
        self._file_bytes_max = file_bytes_max
        self._file_age_ms = file_age_ms
        self._started_ms = clock.now_ms()
        self._file = 0
        self._fd = -1
        self._forget()

    def write(self, encoded: Encoded) -> None:
        """Writes everything, or raises OSError and writes nothing."""
        assert self._fd >= 0, "no file is open"
        try:
            left = memoryview(encoded.block)
            while left:
                left = left[os.write(self._fd, left) :]
        except OSError:
            os.ftruncate(self._fd, self._bytes)
            raise
        self._bytes += len(encoded.block)
        self._checksum += encoded.checksum
        self._counts.update(encoded.counts)

    def open(self) -> None:
        """Begins a file with its opening line, if none is open, and recreates the folder if it was deleted. The first
        line of an incarnation names the previous one, so that it is missed even if all of its files are gone."""
        if self._fd >= 0:
            return
        self._folder.mkdir(exist_ok=True)
        numberer = self._numberer
        path = self._folder / files.name_of(numberer.node, numberer.incarnation, self._started_ms, self._file + 1)
        mark = numberer.number
        names = {} if mark else self._names_before()
        self._fd = _created(path)
        self._file += 1
        self._opened_ms = self._clock.now_ms()
        try:
            sampled = numberer.sample_every
            self.write(numberer.one(EventName.OPENED, self._opened_ms, file=self._file, sampled=sampled, **names))
        except OSError:
            numberer.number = mark
            self.abandon()
            path.unlink(missing_ok=True)
            raise

    @property
    def deleted(self) -> int | None:
        """How many events are lost because the open file was deleted; None when it was not."""
        is_deleted = self._fd >= 0 and os.fstat(self._fd).st_nlink == 0
        return self._counts.total() - 1 if is_deleted else None

    @property
    def is_due(self) -> bool:
        """The file is full, or it is old and has events other than `alive`."""
        happened = self._counts.total() - self._counts[EventName.ALIVE.value] - 1
        is_old = self._clock.now_ms() - self._opened_ms >= self._file_age_ms
        return self._fd >= 0 and (self._bytes >= self._file_bytes_max or (is_old and happened > 0))

    def close(self, *, is_last: bool = False) -> None:
        """Ends the file with its closing line, if one is open. It is synced to the disk only once compressed: syncing
        all of it before would delay the store's commits. `is_last`: no other file follows."""
        if self._fd < 0:
            return
        mark = self._numberer.number
        try:
            self.write(
                self._numberer.one(
                    EventName.CLOSED,
                    self._clock.now_ms(),
                    file=self._file,
                    count=self._counts.total(),
                    checksum=self._checksum,
                    is_last=is_last,
                    counts=dict(self._counts),
                )
            )
        except OSError:
            self._numberer.number = mark
            raise
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Lets go of the file as it is. The next write opens another one."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
        self._forget()

    def _names_before(self) -> dict[str, str]:
        before = files.predecessor_of(self._folder, self._numberer.node, self._numberer.incarnation)
        return {"predecessor": before} if before else {}

    def _forget(self) -> None:
        self._bytes = self._checksum = self._opened_ms = 0
        self._counts: Counter[str] = Counter()


def _created(path: Path) -> int:
    """A new file, locked. Another process may lock it in its first moment, take it for a leftover, and delete it."""
    while True:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o640)
        wait_for_lock(fd)
        if os.fstat(fd).st_nlink:
            return fd
        os.close(fd)
