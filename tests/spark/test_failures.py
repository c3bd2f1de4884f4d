"""The messages for failures of Spark itself."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from spark_jobs import session
from spark_jobs.failures import refused, why

TRACE = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "players.py", line 1, in run
ValueError: first

During handling of the above exception, another exception occurred:
spark_jobs.client.CallFailed: http://127.0.0.1:1 refused a send 50 times: 400 b'no such queue'
"""


@pytest.mark.parametrize(
    "error", [Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111, "refused")]
)
def test_lost_jvm_is_told_with_what_to_look_at(error: Exception) -> None:
    text = why(error, "1g")

    assert text.startswith("Spark's JVM is gone. Either its heap of 1g was full")
    assert "dmesg" in text


def test_jvm_that_did_not_start_is_told_with_the_java_that_it_needs() -> None:
    text = "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number."

    assert "It needs Java 17 or 21" in why(RuntimeError(text), "1g")


def test_full_heap_is_told_with_its_size() -> None:
    assert "heap of 1g" in why(RuntimeError("java.lang.OutOfMemoryError: Java heap space"), "1g")


def test_full_disk_is_told_as_one_however_deep_spark_says_so() -> None:
    text = (
        "[STREAM_FAILED] Query [id = 2, runId = 7] terminated with exception: Traceback (most recent call last):\n"
        "py4j.protocol.Py4JJavaError: An error occurred while calling o4769.parquet.\n"
        ": org.apache.spark.SparkException: Job aborted.\n"
        "Caused by: java.io.IOException: No space left on device\n"
    )

    assert why(RuntimeError(text), "1g").startswith("The disk is full, that of the output or that of temporary files")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_errors_caused_by_an_interrupted_run_are_not_reported_as_failures(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setattr(session, "_silence", lambda _: None)
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(_gateway=None))
    handler = signal.getsignal(number)

    with pytest.raises(SystemExit) as ended, session.interruptible(spark):
        try:
            signal.raise_signal(number)
        finally:
            raise ConnectionError

    assert ended.value.code == 128 + number
    assert signal.getsignal(number) is handler


def test_suppressed_trace_of_the_jvm_is_no_cause() -> None:
    text = "org.example.Failed: the disk is full\n\tat org.example.Run\n\tSuppressed: org.example.Trace: Full"

    assert why(RuntimeError(text), "1g") == "Spark failed: org.example.Failed: the disk is full"


def test_failure_of_a_task_is_told_by_its_last_exception(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(why(RuntimeError(TRACE), "1g")) == 2
    told = capsys.readouterr().err
    assert told.startswith(
        "audit: Spark failed: spark_jobs.client.CallFailed: http://127.0.0.1:1 refused a send 50 times"
    )
    assert why(RuntimeError(""), "1g") == "Spark failed: it did not say why"


STREAM = """[STREAM_FAILED] Query [id = 2, runId = 7] terminated with exception: Traceback (most recent call last):
  File "/spark_jobs/events.py", line 122, in refuse_unknown_versions
spark_jobs.errors.UnknownVersion: Journal lines of version 7 in file:/j; this audit reads version 1
SQLSTATE: 39000
=== Streaming Query ===
Identifier: [id = 2, runId = 7]
Current Committed Offsets: {}
"""


def test_what_a_stream_refuses_is_told_as_if_it_were_no_stream() -> None:
    assert why(RuntimeError(STREAM), "1g") == "Journal lines of version 7 in file:/j; this audit reads version 1"
