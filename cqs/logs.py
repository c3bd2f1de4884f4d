"""The server's log: one line per event, on standard output.

    {"ts":"2026-01-31T12:00:00.000Z","level":"info","event":"queue_created","queue":"orders"}

The event is a fixed, searchable text; variable data goes into fields. Bodies, receipt handles and secrets never appear.
Records of libraries that use the standard `logging` have the same form. They are reduced to the message template and
the location of the exception, since the arguments may be a client's data, except for the libraries in FILLED_IN.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, MutableMapping
from typing import Any, TextIO

import msgspec
import structlog

from cqs import log_output

_FIRST = ("ts", "level", "event")
_FRAMES_MAX = 8
FILLED_IN = ("cassandra.", "opentelemetry.exporter.")
"""Libraries (with what is below them) whose log arguments are hosts, settings and errors, and never client data."""


def set_up(
    level: str, log_format: str, stream: TextIO | None = None, *, worker: int = 0, wait_s: float = log_output.WAIT_S
) -> None:
    """Sends all events from `level` up to `stream` (standard output), as `text`, `json`, or `auto`: text on a terminal.
    With several workers, events carry the worker's number. Call before the first event of a process."""
    out = stream or sys.stdout
    is_text = log_format == "text" or (log_format == "auto" and out.isatty())
    number = logging.getLevelNamesMapping()[level.upper()]
    output = log_output.of_stream(out, wait_s)
    renderer = structlog.dev.ConsoleRenderer(colors=_has_colours(out)) if is_text else _as_json
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="timestamp" if is_text else "ts"),
            _place_exception,
            *([_of_worker(worker)] if worker else []),
            *([_printable] if is_text else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=lambda *_names: _Lines(output),
        cache_logger_on_first_use=True,
    )
    logging.root.handlers = [_Bridge()]
    logging.root.setLevel(max(number, logging.WARNING))


def place_of(error: BaseException) -> list[str]:
    """Where an exception was raised, innermost frame last: `file:line function`, without its text."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES_MAX:]
    return [f"{_near(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]


def _near(path: str) -> str:
    """Relative to the current folder; unchanged if that has been deleted."""
    with contextlib.suppress(OSError):
        return os.path.relpath(path)
    return path


class _Lines:
    """Writes lines and never raises: a closed pipe must not cause a failed send or a dead writer thread."""

    def __init__(self, out: log_output.Output) -> None:
        self._out = out

    def msg(self, line: str) -> None:
        dropped = 0
        with contextlib.suppress(OSError, ValueError):
            dropped = self._out.write(_readable(line))
        if dropped:
            structlog.get_logger().warning("log_lines_dropped", lines=dropped)

    log = debug = info = warning = error = critical = exception = msg


def _as_json(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    ordered = {key: event.pop(key) for key in _FIRST if key in event}
    every = {**ordered, **event}
    try:
        return msgspec.json.encode(every, enc_hook=str).decode()
    except UnicodeEncodeError:
        return json.dumps(every, default=str, separators=(",", ":"))


def _readable(line: str) -> str:
    """Escapes what is not valid Unicode, such as a byte of a path."""
    return line.encode(errors="backslashreplace").decode()


def _of_worker(number: int) -> Callable[[object, str, MutableMapping[str, Any]], MutableMapping[str, Any]]:
    def add(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["worker"] = number
        return event

    return add


def _printable(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escapes what a terminal would obey: anybody may have sent it, for example as the name of a login. (JSON escapes
    it anyway.)"""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[key] = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in value)
    return event


def _place_exception(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replaces `exc_info=error` by the exception's type and location."""
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()[1]
    if isinstance(error, BaseException):
        event["error"] = type(error).__name__
        event["place"] = place_of(error)
    return event


def _has_colours(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ


class _Bridge(logging.Handler):
    """Standard `logging` records as events."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger()
        error = record.exc_info[1] if record.exc_info else None
        log.log(record.levelno, "library_message", library=record.name, text=_text_of(record), exc_info=error)


def _text_of(record: logging.LogRecord) -> str:
    if f"{record.name}.".startswith(FILLED_IN):
        with contextlib.suppress(TypeError, ValueError):
            return record.getMessage()
    return str(record.msg)
