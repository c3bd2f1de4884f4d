"""Determines whether a journal is complete: pure arithmetic over one summary per file, without Spark.

    incarnation A    1…500 closed │ 501…900 closed │ 1001…1200         numbers 901…1000 are missing,
                     file 1         file 2           file 4            and there may be more after 1200

A file that another one contains (a copy, or the open file left by a crash between rename and unlink) is skipped.
Missing events are a gap; nothing is proven across a gap. Each incarnation names its predecessor, so a missing
incarnation is noticed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from spark_jobs.gaps import Gap, GapKind, in_order


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What was read from one file."""

    path: str
    node: str = ""
    incarnation: str = ""
    lines: int = 0
    first: int = 0
    last: int = 0
    number_sum: int = 0
    checksum: int = 0
    """Of the lines before the closing line."""
    closed_lines: int | None = None
    """From the closing line; None without one."""
    closed_checksum: int | None = None
    is_last: bool = False
    """From the closing line: the incarnation ended with this file."""
    bad: int = 0
    sampled: int = 1
    dropped: int = 0
    pruned: int = 0
    first_ms: int = 0
    last_ms: int = 0
    begun_ms: int = 0
    """Time of the line with the lowest number: lines with lower numbers were written before."""
    told_ms: int = 0
    """Time of the latest event that the server itself logged, 0 = none: everything that it logged before is written.
    The recorder, which opens and closes files, may lag behind."""
    predecessor: str = ""
    """From the opening line: the incarnation of this node that used the folder before."""
    is_torn: bool = False
    """Its compressed data ends prematurely or is damaged."""

    @property
    def is_closed(self) -> bool:
        return self.closed_lines is not None

    @property
    def missing(self) -> int:
        """How many numbers between first and last are missing."""
        return self.last - self.first + 1 - self.lines

    @property
    def is_sound(self) -> bool:
        """Whether nothing is missing or changed between the first and last line, as far as the file itself shows."""
        expected = (self.first + self.last) * (self.last - self.first + 1) // 2
        is_counted = self.closed_lines is None or self.closed_lines == self.lines - 1
        is_checked = self.closed_checksum is None or self.closed_checksum == self.checksum
        return self.missing == 0 and self.number_sum == expected and is_counted and is_checked


@dataclass(frozen=True, slots=True)
class Integrity:
    """The result."""

    kept: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    """Files contained in another one; except files that hold several incarnations (joined with `cat`)."""
    is_overlapping: bool = False
    """Some files share lines, which have to be deduplicated by their numbers."""
    gaps: list[Gap] = field(default_factory=list)
    sampled: int = 1
    """One message in this many was recorded, at worst."""
    before: list[Gap] = field(default_factory=list)
    after: list[Gap] = field(default_factory=list)
    """Gaps before and after the audited window (`spark_jobs.window`): they may explain what is found in it."""
    lines: int = 0
    bad: int = 0
    pruned: int = 0

    @property
    def is_whole(self) -> bool:
        return not self.gaps and self.sampled == 1

    @property
    def missing_text(self) -> str:
        """How many events are missing, in words. Those that a server counts as dropped when its recorder dies may be in
        the recorder's last file, which has no end: then the number is no lower bound."""
        known = sum(gap.lines or 0 for gap in self.gaps)
        if all(gap.lines is not None for gap in self.gaps):
            return str(known)
        is_rough = {GapKind.DROPPED, GapKind.NO_END} <= {gap.kind for gap in self.gaps}
        return f"{'about' if is_rough else 'at least'} {known}" if known else "an unknown number of"


def judge(files: Sequence[FileSummary], *, is_running: bool = False) -> Integrity:
    """Judges all files of the journal, in any order. `is_running`: more files may follow, so a last one is required
    only of incarnations that others have followed."""
    by_incarnation = _by_incarnation(files)
    paths = Counter(path for group in by_incarnation.values() for path in {file.path for file in group})
    joined = {path for path, count in paths.items() if count > 1}
    gaps = [Gap(GapKind.UNREADABLE, "", "", file.path, None, None, None) for file in by_incarnation.pop(("", ""), [])]
    kept: list[FileSummary] = []
    duplicates: list[FileSummary] = []
    is_overlapping = False
    followed = _followed(files)
    for place, group in sorted(by_incarnation.items()):
        mine, passed, overlaps = _without_copies(group)
        kept += mine
        duplicates += [file for file in passed if file.path not in joined]
        is_overlapping |= overlaps or any(file.path in joined for file in passed)
        gaps += _gaps(mine, followed.get(place), is_running=is_running)
        gaps += [
            Gap(GapKind.NO_PREDECESSOR, file.node, file.predecessor, file.path, None, None, file.begun_ms)
            for file in mine
            if file.predecessor and (file.node, file.predecessor) not in by_incarnation
        ]
    return Integrity(
        kept=[file.path for file in kept],
        duplicates=[file.path for file in duplicates],
        is_overlapping=is_overlapping,
        gaps=gaps,
        sampled=max((file.sampled for file in kept), default=1),
        lines=sum(file.lines for file in kept),
        bad=sum(file.bad for file in files),
        pruned=sum(file.pruned for file in kept),
    )


def _by_incarnation(files: Iterable[FileSummary]) -> dict[tuple[str, str], list[FileSummary]]:
    """Files from which nothing could be read have neither node nor incarnation."""
    groups: dict[tuple[str, str], list[FileSummary]] = defaultdict(list)
    for file in files:
        groups[file.node, file.incarnation].append(file)
    return groups


def _followed(files: Iterable[FileSummary]) -> dict[tuple[str, str], int]:
    """When the incarnation began that names this one as its predecessor: by then this one had ended."""
    found: dict[tuple[str, str], int] = {}
    for file in files:
        if file.predecessor:
            place = file.node, file.predecessor
            found[place] = min(found.get(place, file.begun_ms), file.begun_ms)
    return found


def condensed(files: Sequence[FileSummary]) -> list[FileSummary]:
    """Fewer summaries with the same result from `judge` while more files may follow: consecutive sound files of an
    incarnation are merged into one, with the path of the first."""
    found: list[FileSummary] = []
    for (node, _), group in _by_incarnation(files).items():
        if not node:
            found += group
            continue
        mine, passed, _ = _without_copies(group)
        found += [file for file in passed if file.bad]
        joined: list[FileSummary] = []
        for file in mine:
            if joined and file.first == joined[-1].last + 1 and _is_plain(joined[-1]) and _is_plain(file):
                joined[-1] = _joined(joined[-1], file)
            else:
                joined.append(file)
        found += joined
    return found


def _is_plain(file: FileSummary) -> bool:
    return file.is_closed and file.is_sound and not (file.is_torn or file.dropped)


def _joined(before: FileSummary, file: FileSummary) -> FileSummary:
    lines = before.lines + file.lines
    return replace(
        before,
        lines=lines,
        last=file.last,
        number_sum=before.number_sum + file.number_sum,
        checksum=0,
        closed_lines=lines - 1,
        closed_checksum=None,
        is_last=file.is_last,
        bad=before.bad + file.bad,
        sampled=max(before.sampled, file.sampled),
        pruned=before.pruned + file.pruned,
        first_ms=min(before.first_ms, file.first_ms),
        last_ms=max(before.last_ms, file.last_ms),
        told_ms=file.told_ms or before.told_ms,
    )


def _without_copies(group: Iterable[FileSummary]) -> tuple[list[FileSummary], list[FileSummary], bool]:
    kept: list[FileSummary] = []
    passed: list[FileSummary] = []
    is_overlapping = False
    for file in sorted(group, key=lambda f: (f.first, -f.last, not f.is_sound, not f.is_closed, f.path)):
        before = kept[-1] if kept else None
        if before is not None and file.last <= before.last and before.lines >= file.lines:
            passed.append(file)
            continue
        is_overlapping |= before is not None and file.first <= before.last
        kept.append(file)
    return kept, passed, is_overlapping


def _gaps(files: Sequence[FileSummary], followed_ms: int | None, *, is_running: bool) -> list[Gap]:
    """The gaps of one incarnation, whose files are in order of their numbers; `followed_ms`: when another one followed
    it."""
    found: list[Gap] = []
    last, told_ms = 0, 0
    for file, next_ms in zip(files, [*(file.begun_ms for file in files[1:]), followed_ms], strict=True):
        since_ms = told_ms or file.first_ms
        if file.first > last + 1:
            found.append(_gap(GapKind.MISSING, file, file.first - last - 1, told_ms or None, file.begun_ms))
        if file.missing > 0:
            found.append(_gap(GapKind.MISSING, file, file.missing, since_ms, file.last_ms))
        elif not file.is_sound:
            found.append(_gap(GapKind.DAMAGED, file, None, told_ms or None, next_ms))
        if file.is_torn:
            found.append(_gap(GapKind.TORN, file, None, told_ms or None, next_ms))
        if file.dropped:
            found.append(_gap(GapKind.DROPPED, file, file.dropped, since_ms, file.last_ms))
        if file.last > last:
            last, told_ms = file.last, file.told_ms or told_ms
    end = max(files, key=lambda file: file.last)
    ends = [file for file in files if file.last == end.last]
    from_ms = told_ms or end.begun_ms
    until_ms = followed_ms if followed_ms is not None and followed_ms >= from_ms else None
    if all(file.is_torn for file in ends):
        return found
    if not any(file.is_closed for file in ends):
        found.append(_gap(GapKind.NO_END, end, None, from_ms, until_ms))
    elif not any(file.is_last for file in ends) and (followed_ms is not None or not is_running):
        found.append(_gap(GapKind.NO_LAST, end, None, from_ms, until_ms))
    return found


def _gap(kind: GapKind, file: FileSummary, lines: int | None, from_ms: int | None, until_ms: int | None) -> Gap:
    return Gap(kind, file.node, file.incarnation, file.path, lines, *in_order(from_ms, until_ms))
