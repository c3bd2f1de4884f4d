"""The Spark session of a job. Under `spark-submit` the cluster's settings rule; by itself a job runs on this machine,
small."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

DRIVER_MEMORY = "1g"
"""Two tasks at a time share it. The whole JVM takes about twice as much."""
SMALL = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings for many queries over few rows: little is compiled, and little waited for."""


def is_submitted() -> bool:
    """Started by `spark-submit`."""
    return "SPARK_ENV_LOADED" in os.environ


def session(
    name: str, master: str = "local[2]", *, memory: str = DRIVER_MEMORY, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session, or the one that runs already; `settings` come on top. Workers get this interpreter, without which
    they would miss its packages."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(f"cqs-{name}")
    if not is_submitted():
        builder = (
            builder.master(master)
            .config("spark.driver.memory", memory)
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "8")
            .config("spark.python.worker.reuse", "true")
        )
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    started = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started


def ended(spark: SparkSession) -> None:
    """Stops the session; one whose JVM is gone can't be told so, and what it failed with is the better news."""
    with suppress(Py4JError, ConnectionError):
        spark.stop()
