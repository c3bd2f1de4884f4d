"""Memory of a running Spark session: Spark's own figures, and the kernel's figures for its processes.

heap_mb       peak of the JVM's heap, which driver and executor share locally; heap_max_mb is its limit
task_mb       largest memory that one task held at a time for sorts, joins and sums (Spark's peakExecutionMemory)
worker_mb     peak resident memory of a single Python worker
resident_mb   of the whole JVM: heap, code, threads, and the buffers of Arrow, Parquet and the shuffle
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from benchmarks import proc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {"spark.executor.metrics.pollingInterval": "200ms", "spark.executor.heartbeatInterval": "1s"}
"""Settings that a session needs from its start to be measured."""
_SAMPLE_S = 0.2
_MB = 1e6


@contextmanager
def peaks(spark: SparkSession) -> Iterator[dict[str, float]]:
    """Yields figures that are complete once the block has ended."""
    found = {"resident_mb": 0.0, "worker_mb": 0.0}
    ending = threading.Event()

    def watch() -> None:
        while not ending.wait(_SAMPLE_S):
            for process in proc.below(os.getpid()):
                if process.name == "java":
                    found["resident_mb"] = max(found["resident_mb"], process.resident_mb)
                else:
                    found["worker_mb"] = max(found["worker_mb"], process.peak_mb())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ending.set()
        thread.join()
    found["heap_mb"] = _heap_mb(spark)
    jvm: Any = spark.sparkContext._jvm
    found["heap_max_mb"] = jvm.java.lang.Runtime.getRuntime().maxMemory() / _MB
    found["task_mb"] = _task_mb(spark)


def _heap_mb(spark: SparkSession) -> float:
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    peaks = [executors.apply(place).peakMemoryMetrics() for place in range(executors.length())]
    return max(
        (float(peak.get().getMetricValue("JVMHeapMemory")) / _MB for peak in peaks if peak.isDefined()), default=0
    )


def _task_mb(spark: SparkSession) -> float:
    """Asks each stage for the task that used the most memory."""
    gateway: Any = spark.sparkContext._gateway
    store = spark.sparkContext._jsc.sc().statusStore()
    largest = gateway.new_array(gateway.jvm.double, 1)
    largest[0] = 1.0
    stages = store.stageList(None, False, False, largest, None)
    found = 0.0
    for place in range(stages.length()):
        stage = stages.apply(place)
        told = store.taskSummary(stage.stageId(), stage.attemptId(), largest)
        if told.isDefined():
            found = max(found, float(told.get().peakExecutionMemory().apply(0)) / _MB)
    return found
