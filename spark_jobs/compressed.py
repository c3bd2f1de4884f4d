"""Whether a compressed file can be read to its end. Spark is told to pass over what it can't read, as one damaged file
must not stop the audit of a thousand; so what it passed over is looked for here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_jobs.integrity import FileSummary


def with_torn(spark: SparkSession, files: Iterable[FileSummary]) -> list[FileSummary]:
    """The same, and which of them are torn. One that is sound up to its closing line is not looked at."""
    return [
        file if file.is_closed and file.is_sound else replace(file, is_torn=is_torn(spark, file.path)) for file in files
    ]


def is_torn(spark: SparkSession, path: str) -> bool:
    """Whether the file breaks off before its end, or its checksum is another. Reads it here, a few kB at a time."""
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
