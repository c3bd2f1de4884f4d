"""Which files of a journal can matter to a window of time, so that only these are read.

    files of an incarnation     1 … 57 │ 58 │ 59 │ 60 │ …         58 was finished before `from`, 59 after it
                                       └──►  read, so that 58 itself shows that all before it is older

A message lives as long as its queue's retention period, and twelve hours longer in a receiver's hands. So nothing that
happened longer than that before the window is about a message that could be in it, and without a store nothing later
than that after the window. With a store everything later is needed: a message that is gone must have ended.

A file was last modified at its last line or, if it was copied, later. A time that is too late costs reading; one that
is too early is noticed by the lines, which have the node's own time and numbers without gaps.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from pyspark.sql import SparkSession

from spark_jobs.integrity import FileSummary

RETENTION_MS = 14 * 86_400_000
"""The longest that a queue can keep a message."""
_HELD_MS = 12 * 3_600_000
_CLOCKS_MS = 3_600_000
"""How far the times of files may differ from those of the lines in them, beyond the difference allowed for clocks."""
_NAME = re.compile(
    r"(?P<writer>.*/[^/]+)\.(?P<start>\d{8}T\d{9})\.(?P<incarnation>[0-9a-f]{13})\.\d{6}\.jsonl(\.gz|\.open)?"
)
"""Files that were renamed are always read."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Events outside this time can't matter. In ms; `until_ms` None: no end."""

    from_ms: int = 0
    until_ms: int | None = None
    skew_ms: int = 0

    @staticmethod
    def of(since_ms: int, until_ms: int, retention_ms: int, skew_ms: int, *, has_store: bool) -> Reach:
        """That of a window; `since_ms` 0: from the beginning of the journal."""
        life_ms = retention_ms + _HELD_MS + skew_ms
        return Reach(max(0, since_ms - life_ms), None if has_store else until_ms + life_ms, skew_ms)

    @property
    def files_from_ms(self) -> int:
        """Files that were last modified before this have no event that can matter."""
        return self.from_ms - _CLOCKS_MS - self.skew_ms

    @property
    def files_until_ms(self) -> float:
        """Files that were begun after this have none either."""
        return float("inf") if self.until_ms is None else self.until_ms + _CLOCKS_MS + self.skew_ms


EVERYTHING = Reach()


@dataclass(frozen=True, slots=True)
class Unread:
    """`paths` need not be read. They are all journal files between the first and last path of each of `spans`. `firsts`
    and `lasts` are those that are read next to them."""

    paths: frozenset[str] = frozenset()
    spans: Sequence[tuple[str, str]] = ()
    firsts: frozenset[str] = field(default=frozenset())
    lasts: frozenset[str] = field(default=frozenset())

    def is_confirmed(self, reach: Reach, files: Iterable[FileSummary]) -> bool:
        """Whether the lines of the files that were read agree that those that were not lie outside the reach."""
        until_ms = reach.until_ms or 0
        return not any(
            (file.path in self.firsts and file.begun_ms >= reach.from_ms)
            or (file.path in self.lasts and file.told_ms <= until_ms)
            for file in files
        )


def unread_in(modified: Mapping[str, int], reach: Reach) -> Unread:
    """What need not be read of these files, whose modification times are given in ms. The last file of an incarnation
    is read unless the node started again before the reach: only it shows whether more files followed it."""
    groups: dict[tuple[str, int, str], list[str]] = defaultdict(list)
    for path in sorted(modified):
        match = _NAME.fullmatch(path)
        if match and (begun_ms := _ms_of(match["start"])) is not None:
            groups[match["writer"], begun_ms, match["incarnation"]].append(path)
    places = sorted(groups)
    spans: list[list[str]] = []
    firsts, lasts = set(), set()
    for place, after in zip(places, [*places[1:], ("", 0, "")], strict=False):
        group, (writer, begun_ms, _) = groups[place], place
        is_followed = after[0] == writer and after[1] < reach.files_from_ms
        first, last = _needed(begun_ms, [modified[path] for path in group], reach, is_followed=is_followed)
        spans += [span for span in (group[:first], group[last:]) if span]
        firsts |= {group[first]} if 0 < first < len(group) else set()
        lasts |= {group[last - 1]} if first < last < len(group) else set()
    paths = frozenset(path for span in spans for path in span)
    return Unread(paths, [(span[0], span[-1]) for span in spans], frozenset(firsts), frozenset(lasts))


def _needed(begun_ms: int, modified: Sequence[int], reach: Reach, *, is_followed: bool) -> tuple[int, int]:
    """Of an incarnation's files: the first one to read, and the first one after it not to read."""
    count = len(modified)
    if min(begun_ms, *modified) > reach.files_until_ms:
        return count, count
    old = next((place for place, at_ms in enumerate(modified) if at_ms >= reach.files_from_ms), count)
    if old == count and is_followed:
        return count, count
    first = max(0, old - 1)
    late = next((place for place in range(first, count) if modified[place] > reach.files_until_ms), count)
    return first, min(count, late + 1)


def _ms_of(start: str) -> int | None:
    """The time in a file's name; None if there is no such date."""
    try:
        return int(datetime.strptime(start[:-3], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).timestamp()) * 1_000
    except ValueError:
        return None


def modified_ms(spark: SparkSession, paths: Iterable[str]) -> dict[str, int]:
    """When these files were last modified; without those that are gone."""
    found: dict[str, int] = {}
    for path in paths:
        try:
            found[path] = _modified_ms(spark, path)
        except OSError:
            continue
    return found


def _modified_ms(spark: SparkSession, path: str) -> int:
    if path.startswith("file:"):
        return os.stat(unquote(path.removeprefix("file:"))).st_mtime_ns // 1_000_000
    jvm: Any = spark.sparkContext._jvm
    place = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(path))
    system = place.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    return int(system.getFileStatus(place).getModificationTime())
