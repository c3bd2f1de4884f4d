"""Runs the streaming audit on the current contents of folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(spark: SparkSession, *folders: Path, output: Path, delay_ms: int = 600_000, skew_ms: int = 0) -> dict[str, Any]:
    """Returns the figures once everything is read. Continues where an earlier run with the same output ended."""
    from spark_jobs.streaming import start

    names = [str(folder) for folder in folders]
    start(spark, names, str(output), is_once=True, delay_ms=delay_ms, skew_ms=skew_ms).awaitTermination()
    figures: dict[str, Any] = json.loads((output / "figures.json").read_text())
    return figures
