"""Reads a journal: lines are parsed once and staged; bad lines are set aside and counted, never silently dropped; files
are judged by `spark_jobs.integrity`; an unknown version is refused.

Files may be compressed, still open, truncated, copied, or from many nodes. Each file is one task, because gzip can't be
split.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from cqs.events import COLUMNS, VERSION, EventName
from spark_jobs.arguments import literal, refuse_missing
from spark_jobs.compressed import with_torn
from spark_jobs.errors import NoJournal, UnknownVersion
from spark_jobs.integrity import FileSummary, Integrity, judge
from spark_jobs.open_files import OF_THE_RECORDER, copied
from spark_jobs.reach import Reach, Unread, modified_ms, unread_in
from spark_jobs.schema import CORRUPT, DEFAULTS, EVENT_NAMES, FIELDS, REQUIRED, text_schema
from spark_jobs.staged import staged, united
from spark_jobs.tables import is_event
from spark_jobs.unread_files import hidden_in

_FILES = "*.{jsonl.gz,jsonl.open,jsonl}"
"""The last pattern matches files that somebody has decompressed."""
_NOT_OPEN = "*.{jsonl.gz,jsonl}"
_OF_THE_JOURNAL = (*OF_THE_RECORDER, EventName.ALIVE)
_PATHS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Journal:
    """`events`: good lines about queues and messages, each once. `bad`: path and text of lines that can't be parsed."""

    events: DataFrame
    bad: DataFrame
    integrity: Integrity
    began_ms: int = 0
    """When the first node started logging."""
    ended_ms: int = 0
    """The time of the last line of any node."""
    nodes: tuple[str, ...] = ()
    unread: int = 0
    """How many files were not read, because nothing in them can matter."""


def read_journal(spark: SparkSession, folders: Sequence[str], stage: str, reach: Reach | None = None) -> Journal:
    """Everything in the folders, each read once; with a `reach`, what is written so far while servers keep writing,
    without the files that lie outside. `stage` is a folder for intermediate files. Raises NoJournal, UnknownVersion."""
    folders = list(dict.fromkeys(folder if "://" in folder else os.path.realpath(folder) for folder in folders))
    refuse_missing(folders)
    parts = [_raw(spark, some, names) for some, names in _parts(folders, stage, is_running=reach is not None) if some]
    paths = _listed(parts, folders)
    unread = unread_in(modified_ms(spark, paths), reach) if reach else Unread()
    lines, summaries = _read(parts, unread, stage)
    if reach and not unread.is_confirmed(reach, summaries):
        sys.stderr.write("audit: everything is read, since the times of some files differ from those of their lines\n")
        unread = Unread()
        lines, summaries = _read(parts, unread, stage)
    summaries = with_torn(spark, summaries)
    silent = (paths | hidden_in(folders)) - unread.paths - {summary.path for summary in summaries}
    integrity = judge([*summaries, *(FileSummary(path) for path in sorted(silent))])
    told = [summary for summary in summaries if summary.node]
    return Journal(
        events_in(lines, integrity),
        lines.where("is_bad").select("path", "text"),
        integrity,
        began_ms=min((summary.first_ms for summary in told), default=0),
        ended_ms=max((summary.last_ms for summary in told), default=0),
        nodes=tuple(sorted({summary.node for summary in told})),
        unread=len(unread.paths),
    )


def _read(parts: Sequence[DataFrame], unread: Unread, stage: str) -> tuple[DataFrame, list[FileSummary]]:
    """The lines of all other files, and the files' summaries."""
    for first, last in unread.spans:
        parts = [raw.where(~_path_of_rows().between(first, last)) for raw in parts]
    lines = staged(united(*map(parsed, parts)), f"{stage}/lines")
    refuse_unknown_versions(lines)
    return lines, summaries_of(lines)


def events_in(lines: DataFrame, integrity: Integrity) -> DataFrame:
    """Good lines about queues and messages, each once."""
    events = lines.where(~F.col("is_bad") & ~is_event(*_OF_THE_JOURNAL))
    if integrity.duplicates:
        events = events.where(~F.col("path").isin(integrity.duplicates))
    if integrity.is_overlapping:
        events = events.dropDuplicates(["node", "incarnation", "number"])
    return events.fillna(DEFAULTS).drop("text", "crc", "is_bad", "v", "file", "sampled", "checksum", "predecessor")


def _parts(folders: Sequence[str], stage: str, *, is_running: bool) -> list[tuple[Sequence[str], str]]:
    """Folders, and which files to read in them."""
    if not is_running:
        return [(folders, _FILES)]
    here, elsewhere = ([folder for folder in folders if ("://" in folder) is is_far] for is_far in (False, True))
    copies = copied(here, Path(stage) / "open")
    return [([*copies, *elsewhere], _FILES), (here, _NOT_OPEN)]


def _listed(parts: Sequence[DataFrame], folders: Sequence[str]) -> set[str]:
    """Paths of all files, including empty and unreadable ones."""
    paths = {_path(path) for raw in parts for path in raw.inputFiles()}
    if not paths:
        raise NoJournal(f"No journal files in {', '.join(folders)}: was the server run with --journal full or sampled?")
    return paths


def _path(text: str) -> str:
    """Normalizes a path, so that a file has the same name in every source."""
    return "file:" + text.removeprefix("file:").removeprefix("//") if text.startswith("file:") else text


def _path_of_rows() -> Column:
    """The same of the file that a row was read from. Spark opens no file that a condition on it excludes."""
    return F.regexp_replace("_metadata.file_path", "^file:///", "file:/")


def _raw(spark: SparkSession, folders: Sequence[str], names: str) -> DataFrame:
    return (
        spark.read.option("pathGlobFilter", names)
        .option("lineSep", "\n")
        .option("ignoreCorruptFiles", "true")
        .option("ignoreMissingFiles", "true")
        .text([folder if "://" in folder else literal(folder) for folder in folders])
    )


def parsed(raw: DataFrame) -> DataFrame:
    """Lines of text files (a batch or a stream) as rows, one per event, with the fields of `cqs.events.Line` except
    `counts`, null where the event has none; plus path, text (of bad lines, which are one row each), crc (of the line,
    on its first event), is_bad."""
    raw = raw.select("value", _path_of_rows().alias("path"))
    parse = F.from_json("value", text_schema(), {"columnNameOfCorruptRecord": CORRUPT, "mode": "PERMISSIVE"})
    lines = raw.withColumn("line", parse).withColumn("is_bad", _is_bad())
    is_ours = ~F.col("is_bad") & (F.col("line.v") == VERSION)
    rows = lines.select(
        "line",
        "path",
        F.when(F.col("is_bad"), F.col("value")).alias("text"),
        F.crc32(F.col("value").cast("binary")).alias("crc"),
        "is_bad",
        F.posexplode_outer(F.when(is_ours, F.col("line.number"))).alias("place", "number"),
    )
    return rows.select(
        *[_value_of(name) for name in FIELDS if name != "counts"],
        "path",
        "text",
        F.when(F.coalesce(F.col("place"), F.lit(0)) == 0, F.col("crc")).alias("crc"),
        "is_bad",
    )


def _is_bad() -> Column:
    """Whether `line` is invalid: it lacks even the head, or, in this version, has fields outside the schema, an unknown
    kind, or columns that are missing or of unequal length."""
    size = F.size("line.number")
    has_head = F.lit(True)
    is_whole = F.col(f"line.{CORRUPT}").isNull() & F.col("line.event").isin(EVENT_NAMES) & (size > 0)
    for name in REQUIRED:
        if name in COLUMNS:
            is_whole &= F.array_contains(f"line.{name}", -1).isNotNull()
        else:
            has_head &= F.col(f"line.{name}").isNotNull()
    for name in COLUMNS:
        is_whole &= F.col(f"line.{name}").isNull() | F.size(f"line.{name}").isin(F.lit(1), size)
    return ~(has_head & ((F.col("line.v") != VERSION) | F.coalesce(is_whole, F.lit(False))))


def _value_of(name: str) -> Column:
    """The value of the event at `place`; a column with one value applies to every event."""
    if name == "number":
        return F.col(name)
    value = F.col(f"line.{name}")
    return (F.get(value, F.least(F.col("place"), F.size(value) - 1)) if name in COLUMNS else value).alias(name)


def refuse_unknown_versions(lines: DataFrame) -> None:
    """Raises UnknownVersion."""
    others = lines.where(~F.col("is_bad") & (F.col("v") != VERSION))
    foreign = others.select("path", "v").distinct().limit(100).collect()
    if foreign:
        versions = ", ".join(str(version) for version in sorted({row["v"] for row in foreign}))
        paths = sorted({row["path"] for row in foreign})
        more = f" and {len(paths) - _PATHS_SHOWN} more" if len(paths) > _PATHS_SHOWN else ""
        raise UnknownVersion(
            f"Journal lines of version {versions} in {', '.join(paths[:_PATHS_SHOWN])}{more}; this audit reads version "
            f"{VERSION}: move these files to a directory of their own, for the audit of the cqs-server that wrote them."
        )


def summaries_of(lines: DataFrame) -> list[FileSummary]:
    """One per file and incarnation; collected to the driver, because their number is that of files, not of events."""
    good, closed = ~F.col("is_bad"), F.col("event") == EventName.CLOSED.value
    per_file = lines.groupBy("path").agg(F.count_if("is_bad").alias("bad"))
    found = (
        lines.where(good)
        .groupBy("path", "node", "incarnation")
        .agg(
            F.count("*").alias("lines"),
            F.min("number").alias("first"),
            F.max("number").alias("last"),
            F.sum("number").alias("number_sum"),
            F.coalesce(F.sum(F.when(~closed, F.col("crc"))), F.lit(0)).alias("checksum"),
            F.max(F.when(closed, F.col("count"))).alias("closed_lines"),
            F.max(F.when(closed, F.col("checksum"))).alias("closed_checksum"),
            F.coalesce(F.max(closed & F.col("is_last")), F.lit(False)).alias("is_last"),
            F.greatest(F.max("sampled"), F.lit(1)).alias("sampled"),
            _count_of(EventName.DROPPED_EVENTS).alias("dropped"),
            _count_of(EventName.PRUNED).alias("pruned"),
            F.min("at_ms").alias("first_ms"),
            F.max("at_ms").alias("last_ms"),
            F.min_by("at_ms", "number").alias("begun_ms"),
            _told_ms().alias("told_ms"),
            F.coalesce(F.max("predecessor"), F.lit("")).alias("predecessor"),
        )
    )
    return [_summary(row) for row in per_file.join(found, "path", "left").collect()]


def _told_ms() -> Column:
    is_told = ~is_event(*OF_THE_RECORDER)
    latest = F.max_by(F.when(is_told, F.col("at_ms")), F.when(is_told, F.col("number")))
    return F.coalesce(latest, F.lit(0))


def _count_of(event: EventName) -> Column:
    return F.coalesce(F.sum(F.when(F.col("event") == event.value, F.col("count"))), F.lit(0))


def _summary(row: Row) -> FileSummary:
    if row["node"] is None:
        return FileSummary(row["path"], bad=row["bad"])
    return FileSummary(**row.asDict())
