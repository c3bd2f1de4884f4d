"""The classes of Spark's JVM on disk, as it holds them in memory (class data sharing, JEP 350).

    python -m spark_jobs.kept_classes

runs a small audit, at whose end the JVM writes them beside Spark's jars: one file of 150 MB. A JVM that maps it need
not read and verify 20,000 classes, so that each later command starts with half of the CPU. A file of another Java or of
other jars is ignored; the same command replaces it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from spark_jobs.audit import Rules, audit
from spark_jobs.errors import JobError
from spark_jobs.failures import SPARK_FAILURES, refused, why
from spark_jobs.replay import replay
from spark_jobs.report import write_report
from spark_jobs.servers import own_server
from spark_jobs.session import ARCHIVE, DRIVER_MEMORY, SMALL, ended, session, written
from spark_jobs.stored import in_sqlite
from spark_jobs.streaming import start
from spark_jobs.workload import named

MESSAGES = 100
END_S_MAX = 180


def main() -> int:
    """Runs the command; returns its exit code."""
    try:
        keep()
    except (JobError, OSError) as error:
        return refused(str(error))
    except SPARK_FAILURES as error:
        return refused(why(error, DRIVER_MEMORY))
    sys.stdout.write(f"kept the classes of Spark's JVM: {ARCHIVE}\n")
    return 0


def keep() -> None:
    """Writes the archive, in place of an earlier one. Atomic. Raises JobError, OSError, and what Spark raises."""
    with tempfile.TemporaryDirectory(prefix="cqs-classes-", dir=ARCHIVE.parent) as folder:
        output = Path(folder)
        spark = session("classes", settings=SMALL, classes=written(output / "archive"))
        try:
            _use(spark, output)
        finally:
            ended(spark)
            _wait_for_jvm()
        place(output / "archive")


def place(written_to: Path) -> None:
    """Puts what a JVM wrote in its place. Atomic. Raises JobError."""
    try:
        written_to.rename(ARCHIVE)
    except FileNotFoundError:
        raise JobError("Java wrote no archive of Spark's classes: it has no class data sharing.") from None


def _use(spark: SparkSession, output: Path) -> None:
    """Loads the classes that the commands use."""
    with own_server(output) as target:
        replay(
            spark,
            named("cqs-50").scaled(MESSAGES),
            target.endpoints,
            "classes",
            str(output / "observations"),
            tell=lambda *_: None,
        )
    stored = in_sqlite(spark, target.data_dir)
    found = audit(spark, target.journals, str(output), Rules(has_all_nodes=True), stored)
    write_report(found, str(output), title="classes", command="")
    start(spark, target.journals, str(output / "stream"), is_once=True).awaitTermination()


def _wait_for_jvm() -> None:
    """It ends when its standard input does."""
    gateway = SparkContext._gateway
    if gateway is not None and gateway.proc is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        try:
            gateway.proc.wait(END_S_MAX)
        except subprocess.TimeoutExpired:
            gateway.proc.kill()
            raise JobError(f"Java did not write its classes in {END_S_MAX} s.") from None


if __name__ == "__main__":
    sys.exit(main())
