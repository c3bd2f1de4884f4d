"""The Spark session of a job. Under `spark-submit` the cluster's settings apply; otherwise a job runs on this machine,
with few resources."""

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

import pyspark
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

DRIVER_MEMORY = "1g"
"""Shared by two concurrent tasks. The whole JVM takes about twice as much."""
ARCHIVE = Path(pyspark.__file__).parent / "cqs-classes"
"""The classes of Spark's JVM, if `spark_jobs.kept_classes` has kept them."""
_SILENCE_S_MAX = 2.0
_JAVA = "spark.driver.extraJavaOptions"
_SILENT = "-Xlog:cds*=off"
SMALL = {
    _JAVA: "-XX:+UseParallelGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=256m",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings for many queries over few rows: little is compiled, and nothing is shuffled
(`spark_jobs.staged.gathered`). With one compiler the JVM would reserve 48 MB for compiled code, which are full after
two minutes of CPU, so that it throws code away and compiles it again; and it would collect all garbage each time that
the classes outgrow a threshold which begins at 21 MB."""

SMALL_BYTES_MAX = 4_000_000
"""Compressed journals below this size have at most a few 100,000 lines, and are read before Spark's compilers
finish."""
PARTITION_BYTES = 4_000_000
"""Compressed journal bytes (a few 100,000 lines) per shuffle partition: some 50 MB in a task. Spark coalesces small
partitions once it knows their size."""


def settings_for(folders: Sequence[str], since_s: float = 0.0) -> dict[str, str]:
    """SMALL if these local folders hold little that was written since then (by the clock of `os.stat`); otherwise a
    number of shuffle partitions that fits the data. Nothing on a cluster."""
    if is_submitted() or any("://" in folder for folder in folders):
        return {}
    held = sum(_bytes_of(path, since_s) for folder in folders for path in Path(folder).glob("*.jsonl*"))
    if held < SMALL_BYTES_MAX:
        return dict(SMALL)
    return {"spark.sql.shuffle.partitions": str(max(8, held // PARTITION_BYTES))}


def _bytes_of(path: Path, since_s: float) -> int:
    """0 when it is older, or when a running server has just renamed it."""
    try:
        told = path.stat()
    except OSError:
        return 0
    return told.st_size if told.st_mtime >= since_s else 0


def is_submitted() -> bool:
    """Whether the process was started by `spark-submit`."""
    return "SPARK_ENV_LOADED" in os.environ


def session(
    name: str,
    master: str = "local[2]",
    *,
    memory: str = DRIVER_MEMORY,
    settings: Mapping[str, str] | None = None,
    classes: str | None = None,
) -> SparkSession:
    """A new session, or the one that is already running; `settings` are applied on top. Workers use this interpreter;
    another one would lack its packages. Sums wrap around: one damaged number, up to 2⁶³, must not end a job. `classes`:
    the JVM's option about an archive of its classes; None: it maps the one that is kept."""
    wanted = dict(settings or {})
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
            .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        )
        java = wanted.get(_JAVA, "-XX:+UseParallelGC")
        wanted[_JAVA] = f"{java} {_mapped() if classes is None else classes}"
    for key, value in wanted.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.ansi.enabled", "false")
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started


def written(path: Path) -> str:
    """The option of a JVM that writes the archive of its classes when it ends."""
    return f'"-XX:ArchiveClassesAtExit={path}" {_SILENT}'


def _mapped() -> str:
    return f'"-XX:SharedArchiveFile={ARCHIVE}" {_SILENT}' if ARCHIVE.exists() else ""


def driver_of(spark: SparkSession) -> tuple[str, str]:
    """The host at which tasks reach the driver, and the one that it listens on."""
    conf = spark.sparkContext.getConf()
    host = conf.get("spark.driver.host", "127.0.0.1") or "127.0.0.1"
    return host, conf.get("spark.driver.bindAddress", host) or host


@contextmanager
def interruptible(spark: SparkSession, said: str = "interrupted, and nothing is proven") -> Iterator[None]:
    """Within it, SIGINT and SIGTERM end this process with 128 + their number, by SystemExit in the main thread, and
    print `said`. The JVM is ended first: otherwise stopping it would wait for a running job."""

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
    """Suppresses the errors caused by aborting a job. Uses a thread, which has its own connection."""
    logging.disable()
    sums = getattr(spark.sparkContext, "_accumulatorServer", None)
    if sums is not None:
        sums.handle_error = lambda *_: None
    warnings.simplefilter("ignore")
    quiet = threading.Thread(target=spark.sparkContext.setLogLevel, args=("OFF",), daemon=True)
    quiet.start()
    quiet.join(_SILENCE_S_MAX)


def ended(spark: SparkSession) -> None:
    """Stops the session. If its JVM is gone, stopping fails, and the original error matters more. Stopping also fails
    in a session that was interrupted while reading an answer, because it takes that answer for another's (KeyError)."""
    with suppress(Py4JError, ConnectionError, KeyError):
        spark.stop()
