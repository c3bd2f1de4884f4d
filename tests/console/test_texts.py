"""Formatting of numbers, times, bodies and commands: pure functions, hostile input."""

from __future__ import annotations

import ast
import json
import shlex
import unicodedata

import pytest

from admin import formats, snippets
from admin.bodies import SHOWN_MAX, hex_dump, pretty_json, preview, shown
from admin.exports import attachment
from admin.message_filter import at_path
from admin.paging import paged
from admin.queue_form import read_duration
from admin.sparkline import sparkline
from tests.console.desk import Desk
from tests.console.hostile import TEXTS, let_through
from tests.engine import ACCOUNT


@pytest.mark.parametrize(
    ("value", "full", "short"),
    [(0, "0", "0"), (9.5, "9.5", "9.5"), (12_345, "12,345", "12.3k"), (250_000, "250,000", "250k"),
     (1_234_567, "1,234,567", "1.2M"), (2 * 10**9, "2,000,000,000", "2.0G"), (None, "\u2013", "\u2013"),
     (float("nan"), "\u2013", "\u2013")],
)  # fmt: skip
def test_numbers(value: float | None, full: str, short: str) -> None:
    assert (formats.number(value), formats.short_number(value)) == (full, short)


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (61_000, "1 min 1 s"), (3_600_000, "1 h"), (90_000_000, "1 d 1 h"),
     (86_400_000 + 5_000, "1 d"), (-61_000, "1 min 1 s"), (None, "\u2013")],
)  # fmt: skip
def test_durations(ms: float | None, text: str) -> None:
    assert formats.duration(ms) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.00025, "250 \u00b5s"), (0.0025, "2.5 ms"), (1.5, "1.5 s"), (0, "0 s"), (None, "\u2013")]
)
def test_short_times(value: float | None, text: str) -> None:
    assert formats.seconds(value) == text


@pytest.mark.parametrize(("ms", "text"), [(5_000, "now"), (0, "\u2013"), (65_000, "in 1 min"), (3_000, "2 s ago")])
def test_moments(ms: int, text: str) -> None:
    assert formats.ago(ms, 5_000) == text


def test_times_that_no_calendar_has_are_nothing() -> None:
    assert formats.iso(1 << 62) == ""
    assert formats.clock(-(1 << 62)) == "\u2013"
    assert formats.iso(1_790_000_000_123) == "2026-09-21T14:13:20.123Z"


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (1_023, "1023 B"), (1_536, "1.5 kB"), (1 << 40, "1.0 TB")])
def test_sizes(count: int, text: str) -> None:
    assert formats.size(count) == text


def test_what_nobody_can_see_is_made_visible() -> None:
    assert formats.visible("a\u202eb\x1b[31m\ud800\n") == "a⟨U+202E⟩b⟨U+001B⟩[31m⟨U+D800⟩\n"
    assert formats.visible("größer 日本 🙂") == "größer 日本 🙂"


@pytest.mark.parametrize(
    ("text", "ms"), [("90", 90_000), ("90 s", 90_000), (" 15m ", 900_000), ("2 h", 7_200_000), ("1 D", 86_400_000)]
)
def test_durations_are_read(text: str, ms: int) -> None:
    assert read_duration(text, "x", 0, 100_000) == ms


@pytest.mark.parametrize("text", ["", "-1", "1.5", "1e3", "5 y", "\u0665", "9999999999", "1 s 2", "NaN"])
def test_durations_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(Exception, match="is needed"):
        read_duration(text, "x", 0, 100_000)


@pytest.mark.parametrize("text", TEXTS)
def test_a_preview_is_one_short_line(text: str) -> None:
    line = preview(text * 100)

    assert "\n" not in line
    assert len(line) <= 500
    assert "\x1b" not in line


@pytest.mark.parametrize(
    "body", ["[" * 100_000, "{" * 100_000, '{"a":' * 100_000, "[1e999]", '{"a":"\\ud800"}', "[NaN]"]
)
def test_json_that_is_none_is_shown_as_text(body: str) -> None:
    assert pretty_json(body, 1_000) is None
    assert shown(body, "json").kind == "text"


@pytest.mark.parametrize(
    "body",
    ["[" * 100 + "1," * 100_000 + "1" + "]" * 100, '{"a": [' + "{}," * 100_000 + "1]}", '["' + "x" * 100_000 + '"]'],
)
def test_of_json_that_is_long_in_lines_only_the_beginning_is_written(body: str) -> None:
    pretty = pretty_json(body, 1_000)
    seen = shown(body, "json")

    assert pretty is not None
    assert 990 <= len(pretty) <= 1_000
    assert seen.text.startswith(pretty)
    assert (len(seen.text), seen.cut) == (SHOWN_MAX, -1) or len(body) < SHOWN_MAX


@pytest.mark.parametrize("text", [*TEXTS, "\u202e" * 100, "x" * 20, "x" * 21, ""])
def test_a_glimpse_is_the_beginning_and_looks_no_further(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = formats.cut(formats.visible(text * 50), 20)
    looked_at: list[str] = []
    category = unicodedata.category

    def counted(one: str) -> str:
        looked_at.append(one)
        return category(one)

    monkeypatch.setattr(unicodedata, "category", counted)

    assert formats.glimpse(text * 50, 20) == wanted
    assert len(looked_at) <= 21


def test_a_body_in_hex() -> None:
    assert hex_dump(b"hello\x00\xff") == "00000000  68 65 6c 6c 6f 00 ff                             hello.."


@pytest.mark.parametrize(
    ("path", "found"),
    [("a.b", (1,)), ("$.a.b", (1,)), ("list[1].c", ("x",)), ("list[2]", None), ("a.x", None), ("list.a", None),
     ("", ({"a": {"b": 1}, "list": [0, {"c": "x"}]},)), ("a[0]", None)],
)  # fmt: skip
def test_a_place_in_a_json_body(path: str, found: tuple[object] | None) -> None:
    assert at_path('{"a": {"b": 1}, "list": [0, {"c": "x"}]}', path) == found


def test_the_last_page_is_shown_for_any_beyond_it() -> None:
    items, pages = paged(range(101), 99, 50)

    assert (list(items), pages.number, pages.count, pages.first, pages.last) == ([100], 3, 3, 101, 101)
    assert list(paged([], 1, 50)[0]) == []


@pytest.mark.parametrize("points", [[], [None, None], [0.0, 0.0], [1.0], [1.0, None, 2.0], [1e30, 1e-30]])
def test_a_sparkline_is_a_picture_whatever_the_points(points: list[float | None]) -> None:
    drawn = str(sparkline(points, points, label='"><script>'))

    assert drawn.startswith("<svg")
    assert "nan" not in drawn
    assert not let_through(drawn)


@pytest.mark.parametrize("text", TEXTS)
def test_a_file_name_can_not_break_its_header(text: str) -> None:
    header = attachment(b"", text, "text/plain").headers["Content-Disposition"]

    assert header.isprintable()
    assert header.count('"') == 2


@pytest.mark.parametrize(
    "body", [*TEXTS, "file:///etc/passwd", "https://evil.example", "$(rm -rf /)", "`id`", "a'b\"c\\"]
)
async def test_commands_are_quoted_for_their_language(desk: Desk, body: str) -> None:
    queue = await desk.bench.create("orders")
    await desk.bench.send(queue, body if body.isprintable() else "plain")
    page = await desk.get(f"/q/{ACCOUNT}/orders/messages")
    message_id = page.text.partition('id="m-')[2][:36]
    assert not let_through((await desk.get(f"/q/{ACCOUNT}/orders/messages/{message_id}")).text)

    params = {
        "QueueUrl": "http://127.0.0.1/1/q",
        "MessageBody": body,
        "MessageAttributes": {"a": {"StringValue": body}},
    }
    command = snippets._cli("http://127.0.0.1", "us-east-1", "SendMessage", params)
    words = shlex.split(command)
    program = ast.parse(snippets._boto3("SendMessage", params))

    assert words[:7] == ["aws", "--endpoint-url", "http://127.0.0.1", "--region", "us-east-1", "sqs", "send-message"]
    if "--cli-input-json" in words:
        assert json.loads(words[-1]) == params
    else:
        assert words[words.index("--message-body") + 1] == body
        assert not body.startswith(("file:", "http"))
    call = program.body[0].value.args[0]  # type: ignore[attr-defined]
    assert {one.arg: ast.literal_eval(one.value) for one in call.keywords} == params
