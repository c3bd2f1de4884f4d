"""Log lines: one JSON object per event, levels, exceptions by type and location, and no data sent by clients."""

from __future__ import annotations

import io
import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
import structlog

from cqs import logs


@pytest.fixture
def out(restored_logging: None) -> io.StringIO:
    return io.StringIO()


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def raised() -> Exception:
    try:
        raise ValueError("a body")
    except ValueError as error:
        return error


def test_event_is_one_line_that_starts_with_time_level_and_event(out: io.StringIO) -> None:
    logs.set_up("info", "auto", out)

    structlog.get_logger().info("queue_created", queue="orders", count=2)

    (line,) = lines(out)
    assert list(line) == ["ts", "level", "event", "queue", "count"]
    assert line["ts"].endswith("Z")
    assert (line["level"], line["event"], line["count"]) == ("info", "queue_created", 2)


def test_events_below_the_level_are_silent(out: io.StringIO) -> None:
    logs.set_up("warning", "json", out)

    structlog.get_logger().info("a")
    structlog.get_logger().warning("b")

    assert [line["event"] for line in lines(out)] == ["b"]


def test_exception_is_told_by_type_and_place_without_its_text(out: io.StringIO) -> None:
    logs.set_up("info", "json", out)

    structlog.get_logger().error("failed", exc_info=raised())

    (line,) = lines(out)
    assert line["error"] == "ValueError"
    assert line["place"][-1].endswith(" raised")
    assert "a body" not in out.getvalue()


def test_an_exception_is_told_when_the_present_folder_was_deleted(
    out: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.set_up("info", "json", out)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    structlog.get_logger().error("failed", exc_info=raised())

    (line,) = lines(out)
    assert line["place"][-1].endswith(" raised")


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_bytes_of_a_path_that_are_no_unicode_are_told_as_escapes(log_format: str, restored_logging: None) -> None:
    written = io.BytesIO()
    logs.set_up("info", log_format, io.TextIOWrapper(written, encoding="utf-8"))

    structlog.get_logger().info("serving", data=os.fsdecode(b"/data/\xff"), name="ü")

    told = written.getvalue().decode()
    assert "dcff" in told
    assert log_format == "text" or json.loads(told)["name"] == "ü"


def test_libraries_are_told_by_their_template_only(out: io.StringIO) -> None:
    logs.set_up("info", "json", out)

    logging.getLogger("aiohttp.server").error("Error handling %s", "a body")
    logging.getLogger("aiohttp.server").info("chatter")

    (line,) = lines(out)
    assert (line["event"], line["library"], line["text"]) == ("library_message", "aiohttp.server", "Error handling %s")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [(("10.0.0.1:9042", 3), "10.0.0.1:9042 is down since 3 s"), (("one",), "%s is down since %d s")],
)
@pytest.mark.parametrize("library", ["cassandra.cluster", "opentelemetry.exporter.otlp.proto.http.trace_exporter"])
def test_a_library_that_fills_in_nothing_of_a_client_is_told_in_full(
    out: io.StringIO, library: str, arguments: tuple[object, ...], text: str
) -> None:
    logs.set_up("info", "json", out)

    logging.getLogger(library).warning("%s is down since %d s", *arguments)

    assert [line["text"] for line in lines(out)] == [text]


def test_text_is_for_people(out: io.StringIO) -> None:
    logs.set_up("info", "text", out)

    structlog.get_logger().info("queue_created", queue="orders")

    assert "queue_created" in out.getvalue()
    assert "queue=orders" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_what_a_terminal_would_obey_is_an_escape(out: io.StringIO) -> None:
    logs.set_up("info", "text", out)

    structlog.get_logger().info("console_action", who="\x1b[2J\u202ealice\x9b\nfaked", target="caf\u00e9 \u4e2d")

    assert "who=\\x1b[2J\\u202ealice\\x9b\\nfaked" in out.getvalue()
    assert "caf\u00e9 \u4e2d" in out.getvalue()
    assert out.getvalue().count("\n") == 1


def test_closed_output_harms_nobody(out: io.StringIO) -> None:
    logs.set_up("info", "json", out)
    out.close()

    structlog.get_logger().info("queue_created", queue="orders")
    logging.getLogger("aiohttp.server").error("Error")
