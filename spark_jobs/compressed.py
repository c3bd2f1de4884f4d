"""Finds compressed files that can't be read to their end. Spark is told to skip what it can't read, so that one damaged
file does not stop the audit of a thousand; this module finds what it skipped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_jobs.integrity import FileSummary


def with_torn(spark: SparkSession, files: Iterable[FileSummary]) -> list[FileSummary]:
    """The same summaries, marking the torn ones. Files that are sound up to their closing line are not checked."""
    return [
        file if file.is_closed and file.is_sound else replace(file, is_torn=is_torn(spark, file.path)) for file in files
    ]


def is_torn(spark: SparkSession, path: str) -> bool:
    """Whether the file ends prematurely or its checksum differs. Reads it in the driver, a few kB at a time."""
    if not path.endswith(".gz"):
        return False
    jvm: Any = spark.sparkContext._jvm
    place = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(path))
    source = place.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).open(place)
    try:
        jvm.java.util.zip.GZIPInputStream(source).transferTo(jvm.java.io.OutputStream.nullOutputStream())
    except Py4JJavaError:
        return True
    finally:
        source.close()
    return False
