"""`cqs serve` as its own process, started as a user does."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[2]
START_S_MAX = 100.0
STOP_S_MAX = 60.0
CHANGE_S_MAX = 60.0
CONSUME_S_MAX = 90.0
"""Longer than messages are hidden whose receive had no response."""


class Served:
    """A running server: its log lines so far, its endpoint, and methods to stop it."""

    def __init__(self, process: subprocess.Popen[str], lines: list[dict[str, Any]]) -> None:
        self.process = process
        self.lines = lines
        self.endpoint = str(lines[-1]["endpoint"])

    def get(self, path: str) -> tuple[int, str]:
        """Returns status and body of a GET."""
        try:
            with urlopen(self.endpoint + path, timeout=60) as answer:
                return int(answer.status), answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def call(self, action: str, timeout_s: float = 60, **members: object) -> dict[str, Any]:
        """Calls one SQS action and returns its response."""
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"AmazonSQS.{action}"}
        request = Request(self.endpoint, json.dumps(members).encode(), headers)
        with urlopen(request, timeout=timeout_s) as answer:
            text = answer.read()
        told: dict[str, Any] = json.loads(text) if text else {}
        return told

    def consume(self, url: str, count: int) -> None:
        """Receives and deletes that many messages of a queue, within CONSUME_S_MAX."""
        give_up_s = time.monotonic() + CONSUME_S_MAX
        while count:
            assert time.monotonic() < give_up_s
            received = self.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
            for message in received.get("Messages", []):
                self.call("DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                count -= 1

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Stops the server. Returns the exit code and the remaining standard output and error."""
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=STOP_S_MAX)
        return self.process.returncode, output + errors


def until(is_so: Callable[[], bool], within_s: float = CHANGE_S_MAX) -> None:
    """Waits until the condition holds. Fails if that takes too long."""
    give_up_s = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < give_up_s
        time.sleep(0.05)


def until_waiting(endpoint: str, count: int = 1, trusted: Path | None = None) -> None:
    """Waits until exactly `count` long polls have found nothing at this server and wait for messages. `trusted`: the
    certificate of a server with TLS."""
    line = f"cqs_waiting_receives {float(count)}"
    context = ssl.create_default_context(cafile=trusted) if trusted else None

    def waits() -> bool:
        with urlopen(f"{endpoint}/metrics", timeout=60, context=context) as answer:
            return line in answer.read().decode().splitlines()

    until(waits)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cqs", "serve", *arguments]


def refused(*arguments: str, **env: str) -> tuple[int, str]:
    """Starts a server that must not start. Returns its exit code and standard error."""
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=START_S_MAX, cwd=ROOT, env=os.environ | env
    )
    return done.returncode, done.stderr


@contextmanager
def serving(*arguments: str, port: int = 0, **env: str) -> Iterator[Served]:
    """Starts a server and waits until it logs that it serves. Kills it at the end if it still runs."""
    process = subprocess.Popen(
        command("--port", str(port), *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env=os.environ | env,
    )
    try:
        yield Served(process, lines_until_serving(process))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def lines_until_serving(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """Returns the log lines of a starting server, up to the one that says it serves. `select` can't tell whether there
    is another line: that may have been read together with the last one."""
    assert process.stdout is not None
    lines: list[dict[str, Any]] = []
    giving_up = threading.Timer(START_S_MAX, process.kill)
    giving_up.start()
    try:
        while not lines or lines[-1]["event"] != "serving":
            line = process.stdout.readline()
            if not line:
                raise AssertionError(f"the server did not start: {lines} {process.communicate()}")
            lines.append(json.loads(line))
    finally:
        giving_up.cancel()
    return lines
