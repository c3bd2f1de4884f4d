"""Memory of a running Spark session: what Spark counts itself, and what the kernel counts of its processes.

heap_mb       peak of the JVM's heap, which driver and executor share locally; heap_max_mb is its limit
task_mb       largest memory that one task held at a time for sorts, joins and sums (Spark's peakExecutionMemory)
worker_mb     largest resident memory that one Python worker ever had
resident_mb   of the JVM in all: heap, and code, threads, and the buffers of Arrow, Parquet and the shuffle
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
"""A session that is to be measured needs these from its start."""
_SAMPLE_S = 0.2
_MB = 1e6


@contextmanager
def peaks(spark: SparkSession) -> Iterator[dict[str, float]]:
    """Complete when the block has ended."""
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
    """By asking of each stage for the task that held most."""
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
