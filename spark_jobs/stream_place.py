"""Where the state of the streaming audit lies: a folder a batch, with rows as Parquet and what else is remembered."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from spark_jobs.arguments import literal
from spark_jobs.errors import JobError
from spark_jobs.integrity import FileSummary
from spark_jobs.staged import gathered

_MEMORY = "memory.json"
Gone = dict[int, tuple[int | None, int | None, int | None]]
"""As `stream_state.gone_of` takes it."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What a state knows besides messages; small: one entry an incarnation of a node, a gap in its numbers, and a queue
    that was purged or deleted."""

    files: list[FileSummary] = field(default_factory=list)
    gone: Gone = field(default_factory=dict)
    latest_ms: int = 0
    mark_ms: int = 0
    settled_ms: int = 0
    late_lines: int = 0
    skew_ms: int = 0
    """By how much, at least, clocks differed where that was more than was allowed for."""

    def with_skew(self, seen_ms: int, allowed_ms: int) -> Memory:
        """And that clocks differed by so much."""
        return replace(self, skew_ms=max(self.skew_ms, seen_ms)) if seen_ms > allowed_ms else self

    @property
    def began_ms(self) -> int:
        """When the first node began to tell."""
        return min((file.first_ms for file in self.files if file.node), default=0)


@dataclass(frozen=True, slots=True)
class Place:
    """A state's folder."""

    spark: SparkSession
    folder: Path

    def read(self, name: str, schema: str | StructType) -> DataFrame:
        """Nothing when there is no state. Raises JobError when a part of it is gone."""
        path = self.folder / name
        if not path.exists():
            if self.is_whole:
                raise JobError(f"{path} is gone, a part of what the streaming audit knows: name a new --output.")
            return gathered(self.spark.createDataFrame([], schema))
        return gathered(self.spark.read.schema(schema).parquet(literal(str(path))))

    def write(self, name: str, rows: DataFrame) -> None:
        rows.write.mode("overwrite").parquet(str(self.folder / name))

    @property
    def is_whole(self) -> bool:
        """The memory is written last."""
        return (self.folder / _MEMORY).exists()

    def remember(self, memory: Memory) -> None:
        """At once; the state is whole then."""
        replace_text(self.folder / _MEMORY, json.dumps(asdict(memory)))

    def memory(self) -> Memory:
        if not self.is_whole:
            return Memory()
        told = json.loads((self.folder / _MEMORY).read_text())
        if not told.keys() >= {one.name for one in fields(Memory)}:
            raise JobError(f"{self.folder} was written by another version of the streaming audit: name a new --output.")
        return Memory(
            files=[FileSummary(**file) for file in told["files"]],
            gone={int(uid): tuple(one) for uid, one in told["gone"].items()},
            **{name: told[name] for name in ("latest_ms", "mark_ms", "settled_ms", "late_lines", "skew_ms")},
        )


def replace_text(path: Path, text: str) -> None:
    """Writes the file at once: whoever reads it finds all of the text or what was there before."""
    part = path.with_suffix(".part")
    part.write_text(text)
    os.replace(part, path)
