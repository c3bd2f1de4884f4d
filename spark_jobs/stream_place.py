"""Where the streaming audit stores its state: one folder per batch, with rows as Parquet and a small file for
everything else."""

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
from spark_jobs.staged import few, gathered

_MEMORY = "memory.json"
Gone = dict[int, tuple[int | None, int | None, int | None]]
"""The argument of `stream_state.gone_of`."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What a state holds besides messages; small: one entry per incarnation of a node, per gap in its numbers, and per
    queue that was purged or deleted."""

    files: list[FileSummary] = field(default_factory=list)
    gone: Gone = field(default_factory=dict)
    latest_ms: int = 0
    mark_ms: int = 0
    settled_ms: int = 0
    late_lines: int = 0
    skew_ms: int = 0
    """A lower bound of the clock difference, if it exceeded what was allowed for."""

    def with_skew(self, seen_ms: int, allowed_ms: int) -> Memory:
        """Records a clock difference of this size."""
        return replace(self, skew_ms=max(self.skew_ms, seen_ms)) if seen_ms > allowed_ms else self

    @property
    def began_ms(self) -> int:
        """When the first node started logging."""
        return min((file.first_ms for file in self.files if file.node), default=0)


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a state."""

    spark: SparkSession
    folder: Path

    def read(self, name: str, schema: str | StructType) -> DataFrame:
        """Empty when there is no state. Raises JobError when a part of the state is missing."""
        path = self.folder / name
        if not path.exists():
            if self.is_whole:
                raise JobError(f"{path} is missing from the streaming audit's state: name a new --output.")
            return few(self.spark, [], schema)
        return gathered(self.spark.read.schema(schema).parquet(literal(str(path))))

    def write(self, name: str, rows: DataFrame) -> None:
        rows.write.mode("overwrite").parquet(str(self.folder / name))

    @property
    def is_whole(self) -> bool:
        """Whether the state is complete: the memory is written last."""
        return (self.folder / _MEMORY).exists()

    def remember(self, memory: Memory) -> None:
        """Atomic; completes the state."""
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
    """Writes the file atomically: readers see the whole new text or the previous content."""
    part = path.with_suffix(".part")
    part.write_text(text)
    os.replace(part, path)
