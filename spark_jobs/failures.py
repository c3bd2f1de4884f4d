"""What to say when Spark itself fails: one line that a person can act on, instead of two tracebacks of a hundred lines.

The JVM that drives a job can disappear: it exits when its heap is full, and the kernel's OOM killer ends the largest
process when the machine runs out of memory. Python then sees only a refused connection.
"""

from __future__ import annotations

import sys
from pathlib import Path

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from spark_jobs.errors import JobError

SPARK_FAILURES = (Py4JError, PySparkException, ConnectionError)
_LINE_MAX = 400
_OURS = f"{JobError.__module__}."
_NOT_RAISED = {"Suppressed", "Identifier", "SQLSTATE"}
"""Words that precede a colon but are no exception: a nested trace, a stream's query, an error code."""
_FULL = ("OutOfMemoryError", "GC overhead limit")
_DISK_FULL = "No space left on device"


def why(error: BaseException, memory: str) -> str:
    """One sentence; `memory`: the JVM's heap limit."""
    text = str(error)
    if any(word in text for word in _FULL):
        return f"Spark's JVM ran out of its heap of {memory}: allow it more with --memory."
    if _DISK_FULL in text:
        return "The disk is full, that of the output or that of temporary files: make room, then run the same command."
    if isinstance(error, Py4JNetworkError | ConnectionError):
        return (
            f"Spark's JVM is gone. Either its heap of {memory} was full (then it said OutOfMemoryError above): allow "
            f"it more with --memory. Or the kernel's OOM killer ended it (`dmesg | grep -i oom`; {_free_mb()} MB "
            "are free now): stop something else."
        )
    if "JAVA_GATEWAY_EXITED" in text:
        return (
            "Spark's JVM did not start, for the reason above. It needs Java 17 or 21 (`java -version`), in JAVA_HOME "
            "if that is set, otherwise in PATH."
        )
    cause = _cause(text)
    return cause.partition(": ")[2] if cause.startswith(_OURS) else f"Spark failed: {cause}"


def refused(text: str) -> int:
    """Reports it on standard error; returns the exit code for a command that could not run."""
    sys.stderr.write(f"audit: {text}\n")
    return 2


def _cause(text: str) -> str:
    """The last exception raised in a task, or the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if _is_raised(line)]
    return (raised[-1] if raised else lines[0] if lines else "it did not say why")[:_LINE_MAX]


def _is_raised(line: str) -> bool:
    """Such as `ValueError: …` or `spark_jobs.client.CallFailed: …`, as Python writes it."""
    name, colon, _ = line.partition(": ")
    return (
        bool(colon)
        and name not in _NOT_RAISED
        and name.replace(".", "").replace("_", "").isalnum()
        and name.rpartition(".")[2][:1].isupper()
    )


def _free_mb() -> str:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return "an unknown number of"
    return next((str(int(line.split()[1]) // 1_024) for line in lines if line.startswith("MemAvailable:")), "unknown")
