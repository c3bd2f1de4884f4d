"""Lines of the journal's text, and the events in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cqs.events import COLUMNS, EventName, Head, Line
from cqs.ids import text_of
from cqs.journal.blocks import block_of, lines_of
from cqs.journal.files import files_of
from cqs.journal.lines import LINE_EVENTS_MAX
from tests.unit.journal_bench import QUEUE, JournalBench

HEAD = '{"v":2,"node":"api-1","incarnation":"a","event":"sent"'


def test_what_happened_meanwhile_elsewhere_stands_in_one_line_with_its_kind(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path)
    other = msgspec.structs.replace(QUEUE, name="other", uid=8, generation=2)
    first, second = bench.message("1"), bench.message("22")
    bench.journal.sent(QUEUE, [first])
    bench.clock.advance_ms(1)
    bench.journal.deleted(QUEUE, [5])
    bench.journal.sent(other, [second])
    bench.clock.advance_ms(1)
    bench.journal.sent(QUEUE, [first, second])
    bench.flush()

    [opened, deleted, sent] = files_of(bench.folder)[0].path.read_bytes().splitlines()
    told = msgspec.json.decode(sent)
    assert (b"opened" in opened, b"deleted" in deleted, told["number"]) == (True, True, [2, 4, 5, 6])
    assert (told["queue"], told["bytes"]) == (["orders", "other", "orders", "orders"], [1, 2, 1, 2])
    assert told["account"] == [QUEUE.account]
    seen = [
        (line.number, line.event.value, line.queue, line.uid, line.generation, line.bytes) for line in bench.lines()
    ]
    assert seen[1:] == [
        (2, "sent", "orders", 7, 0, 1),
        (3, "deleted", "orders", 7, 0, 0),
        (4, "sent", "other", 8, 2, 2),
        (5, "sent", "orders", 7, 0, 1),
        (6, "sent", "orders", 7, 0, 2),
    ]
    opened_ms = bench.lines()[0].at_ms
    assert [line.at_ms - opened_ms for line in bench.lines()[1:]] == [0, 1, 1, 2, 2]


def test_long_call_becomes_lines_of_so_many_events(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path)
    bench.journal.expired(QUEUE, range(1, 2 * LINE_EVENTS_MAX + 2))
    bench.flush()

    _, *texts = files_of(bench.folder)[0].path.read_bytes().splitlines()
    assert [len(lines_of(text)) for text in texts] == [LINE_EVENTS_MAX, LINE_EVENTS_MAX, 1]
    assert [line.number for line in bench.lines()] == list(range(1, 2 * LINE_EVENTS_MAX + 3))
    assert bench.lines()[-1].address == text_of(2 * LINE_EVENTS_MAX + 1)


def test_column_has_a_value_for_each_event_or_one_for_all() -> None:
    text = f'{HEAD},"number":[4,9],"at_ms":[7],"queue":["orders"],"bytes":[10,20]}}'.encode()

    lines = lines_of(text)

    assert [(line.number, line.at_ms, line.queue, line.bytes, line.index) for line in lines] == [
        (4, 7, "orders", 10, -1),
        (9, 7, "orders", 20, -1),
    ]
    assert {(line.v, line.node, line.incarnation, line.event) for line in lines} == {(2, "api-1", "a", EventName.SENT)}


@pytest.mark.parametrize(
    "columns",
    [
        '"at_ms":[7]',
        '"number":[1,2]',
        '"number":[],"at_ms":[]',
        '"number":[1,2,3],"at_ms":[7],"bytes":[1,2]',
        '"number":[1],"at_ms":[7,8]',
        '"number":1,"at_ms":7',
        '"number":[1],"at_ms":["7"]',
        '"number":[null],"at_ms":[7]',
    ],
)
def test_columns_that_do_not_fit_are_no_line(columns: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        lines_of(f"{HEAD},{columns}}}".encode())


def test_bytes_that_are_no_text_are_no_line() -> None:
    with pytest.raises(msgspec.DecodeError):
        lines_of(f'{HEAD},"number":[1],"at_ms":[7],"queue":["'.encode() + b'\xff"]}')


def test_line_of_another_version_is_none() -> None:
    with pytest.raises(msgspec.DecodeError, match="version 9, but version 2 is expected"):
        lines_of(f'{HEAD},"number":[1],"at_ms":[7]}}'.replace('"v":2', '"v":9').encode())


def test_every_field_comes_back() -> None:
    values: dict[str, Any] = {
        field.name: {str: field.name, int: 3, bool: True, EventName: EventName.CLOSED}.get(field.type, {"sent": 1})
        for field in msgspec.structs.fields(Line)
    }
    line = Line(**values | {"v": 2})

    assert lines_of(block_of(line)) == [line]
    assert {*COLUMNS} == {*Line.__struct_fields__} - {*Head.__struct_fields__}
