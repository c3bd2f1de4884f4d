"""The Spark session of a job. Under `spark-submit` the cluster's settings rule; by itself a job runs on this machine,
small."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

DRIVER_MEMORY = "1g"
"""Two tasks at a time share it. The whole JVM takes about twice as much."""
_SILENCE_S_MAX = 2.0
SMALL = {
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings for many queries over few rows: little is compiled, and nothing shuffled (`spark_jobs.staged.gathered`)."""


SMALL_BYTES_MAX = 4_000_000
"""Compressed journals below this have at most a few 100,000 lines, and are read before Spark's compilers are done."""
PARTITION_BYTES = 4_000_000
"""Compressed journal, a few 100,000 lines, for each part of a shuffle: some 50 MB in a task. Spark joins small parts
again when it has seen them."""


def settings_for(folders: Sequence[str], since_s: float = 0.0) -> dict[str, str]:
    """SMALL when little that was written since then (by the clock of `os.stat`) lies in these folders of this machine,
    and as many parts as there is work otherwise. Nothing on a cluster."""
    if is_submitted() or any("://" in folder for folder in folders):
        return {}
    held = sum(_bytes_of(path, since_s) for folder in folders for path in Path(folder).glob("*.jsonl.*"))
    if held < SMALL_BYTES_MAX:
        return dict(SMALL)
    return {"spark.sql.shuffle.partitions": str(max(8, held // PARTITION_BYTES))}


def _bytes_of(path: Path, since_s: float) -> int:
    """0 when it is older, or a running server has just renamed it."""
    try:
        told = path.stat()
    except OSError:
        return 0
    return told.st_size if told.st_mtime >= since_s else 0


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
            .config("spark.driver.extraJavaOptions", "-XX:+UseParallelGC")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "8")
            .config("spark.python.worker.reuse", "true")
            .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        )
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    started = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started


def driver_of(spark: SparkSession) -> tuple[str, str]:
    """The host by which tasks reach the driver, and the one that it listens on."""
    conf = spark.sparkContext.getConf()
    host = conf.get("spark.driver.host", "127.0.0.1") or "127.0.0.1"
    return host, conf.get("spark.driver.bindAddress", host) or host


@contextmanager
def interruptible(spark: SparkSession, said: str = "interrupted, and nothing is proven") -> Iterator[None]:
    """Within it SIGINT and SIGTERM end this process with 128 + their number, by SystemExit in the main thread, and tell
    what is `said` in a line. The JVM is ended first: a running job would be waited for, by whoever asks it to stop."""

    codes: list[int] = []

    def end(number: int, _: object) -> None:
        codes.append(128 + number)
        os.write(sys.stderr.fileno(), f"audit: {said}\n".encode())
        _silence(spark)
        jvm = getattr(spark.sparkContext._gateway, "proc", None)
        if jvm is not None:
            jvm.terminate()
        sys.exit(codes[0])

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except Exception:
        if codes:
            sys.exit(codes[0])
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _silence(spark: SparkSession) -> None:
    """Nobody wants to hear what breaks when a job is broken off. By a thread, which has a connection of its own."""
    logging.disable()
    sums = getattr(spark.sparkContext, "_accumulatorServer", None)
    if sums is not None:
        sums.handle_error = lambda *_: None
    warnings.simplefilter("ignore")
    quiet = threading.Thread(target=spark.sparkContext.setLogLevel, args=("OFF",), daemon=True)
    quiet.start()
    quiet.join(_SILENCE_S_MAX)


def ended(spark: SparkSession) -> None:
    """Stops the session; one whose JVM is gone can't be told so, and what it failed with is the better news. Nor can
    one that was interrupted in an answer, which takes that for another's (KeyError)."""
    with suppress(Py4JError, ConnectionError, KeyError):
        spark.stop()
