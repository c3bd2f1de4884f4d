"""Messages and dead letters downloaded as CSV: those that match, beyond the page, bounded, harmless to spreadsheets."""

from __future__ import annotations

import csv
import io
import re
import threading
from collections.abc import Iterable, Sequence

import pytest

from admin import exports
from admin.views import message_tables
from cqs.identity import Role
from cqs.queue import Redrive
from tests.console.desk import Desk
from tests.engine import ACCOUNT

ORDERS = f"/q/{ACCOUNT}/orders"


async def table(desk: Desk, path: str) -> list[dict[str, str]]:
    file = await desk.get(path)
    assert (file.status, file.headers["Content-Type"]) == (200, "text/csv; charset=utf-8")
    assert file.headers["Content-Disposition"].startswith("attachment; ")
    return list(csv.DictReader(io.StringIO(file.raw.decode("utf-8-sig"))))


async def test_all_messages_of_a_state_are_taken_away_and_none_is_received(desk: Desk) -> None:
    orders = await desk.bench.create("orders")
    for start in range(0, 260, 10):
        await desk.bench.send(orders, *(f"m{number}" for number in range(start, start + 10)))
    await desk.bench.receive(orders, 3)

    ready = await table(desk, f"{ORDERS}/messages.csv")
    held = await table(desk, f"{ORDERS}/messages.csv?state=in_flight")

    assert len(ready) == 257
    assert {row["body"] for row in ready} | {row["body"] for row in held} == {f"m{number}" for number in range(260)}
    assert {(row["state"], row["receives"]) for row in held} == {("in_flight", "1")}
    assert {row["receives"] for row in ready} == {"0"}
    assert (await desk.bench.counts(orders)).ready == 257


async def test_the_filter_of_the_page_holds(desk: Desk) -> None:
    await desk.bench.send(await desk.bench.create("orders"), "needle 1", "hay", "NEEDLE 2")
    page = await desk.get(f"{ORDERS}/messages?text=needle")

    rows = await table(desk, f"{ORDERS}/messages.csv?text=needle")

    assert [row["body"] for row in rows] == ["needle 1", "NEEDLE 2"]
    assert f'href="/ADMIN{ORDERS}/messages.csv?text=needle"' in page.text


async def test_a_body_is_no_formula(desk: Desk) -> None:
    await desk.bench.send(await desk.bench.create("orders"), "=HYPERLINK(1)", 'a,b\n"c"')

    assert [row["body"] for row in await table(desk, f"{ORDERS}/messages.csv")] == ["'=HYPERLINK(1)", 'a,b\n"c"']


@pytest.mark.parametrize("formula", ["=1+1", "+1+1", "-1+1", "@SUM(1)", "=cmd|'/c calc'!A0", "\uff1d1+1"])
@pytest.mark.parametrize("before", ["", " ", "\t", "\r", "\n", "\0", '"', '""', "a;", 'a";"', "a\t", 'a\n"', "a;; \t"])
def test_no_part_of_a_body_is_a_formula_whatever_separates_cells(before: str, formula: str) -> None:
    file = exports.as_csv(("id", "body", "why"), [("1", f"{before}{formula}", formula)]).decode("utf-8-sig")

    by_commas = [cell for row in csv.reader(io.StringIO(file, newline="")) for cell in row]
    by_others = re.split(r"[;\t\r\n]", file)
    for cell in by_commas + by_others:
        assert not cell.lstrip(' \t\r\n\0"').startswith(("=", "+", "-", "@", "\uff1d"))
        assert not cell.startswith(("\t", "\r", "\n", "\0"))


@pytest.mark.parametrize("body", ["-5", "-0.25", '{"a": [1, -2], "b": "x = y"}', "a - b; c", "'=1", "x;;y\n\n"])
def test_a_harmless_body_is_exported_as_it_is(body: str) -> None:
    file = exports.as_csv(("body",), [(body,)]).decode("utf-8-sig")

    assert list(csv.reader(io.StringIO(file, newline="")))[1] == [body]


@pytest.mark.parametrize(("name", "most", "expected"), [("ROWS_MAX", 150, 150), ("BYTES_MAX", 20, 100)])
async def test_it_is_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str, most: int, expected: int) -> None:
    orders = await desk.bench.create("orders")
    for _ in range(25):
        await desk.bench.send(orders, *["x" * 10] * 10)
    monkeypatch.setattr(message_tables, name, most)

    assert len(await table(desk, f"{ORDERS}/messages.csv")) == expected


async def test_dead_letters_are_taken_away_with_why_they_are_there(desk: Desk) -> None:
    dead = await desk.bench.create("dead")
    orders = await desk.bench.create("orders", redrive=Redrive(dead.arn, 1))
    await desk.bench.send(orders, '{"error": "Declined"}', '{"error": "Timeout"}')
    for _ in range(2):
        await desk.bench.receive(orders, 10, visibility_ms=0)

    rows = await table(desk, f"/q/{ACCOUNT}/dead/dead-letters.csv?text=declined")

    assert [(row["from"], row["error"], row["body"]) for row in rows] == [
        ("orders", "Declined", '{"error": "Declined"}')
    ]
    assert rows[0]["why"] == "Declined"


async def test_another_account_takes_nothing_away(desk: Desk) -> None:
    await desk.bench.send(await desk.bench.create("orders"), "secret")
    await desk.add_user("root", Role.ADMINISTRATOR)
    await desk.add_user("stranger", Role.ADMINISTRATOR, "111122223333")
    await desk.log_in("stranger")

    for name in ("messages.csv", "dead-letters.csv"):
        page = await desk.get(f"{ORDERS}/{name}")
        assert page.status == 404
        assert "secret" not in page.text


@pytest.mark.parametrize(
    "path", [f"{ORDERS}/messages.csv", f"{ORDERS}/dead-letters.csv", "/queues.csv", "/changes.csv"]
)
async def test_a_table_is_written_beside_the_event_loop(desk: Desk, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await desk.bench.send(await desk.bench.create("orders"), "one")
    threads: list[int] = []
    write = exports.as_csv

    def watched(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
        threads.append(threading.get_ident())
        return write(head, rows)

    monkeypatch.setattr(exports, "as_csv", watched)
    page = await desk.get(path)

    assert page.status == 200
    assert threads and threading.get_ident() not in threads
