"""A message's events in the event journal are found in open and finished files, even if the message is gone."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

import pytest

from admin import journal_search
from admin.console import About
from admin.journal_search import WAITING_MAX, Found, Searches, search
from cqs.errors import ServiceUnavailable
from cqs.events import VERSION, EventName, Line
from cqs.journal.blocks import block_of
from cqs.journal.files import name_of
from tests.console.desk import make_desk
from tests.engine import ACCOUNT
from tests.unit.journal_bench import QUEUE, JournalBench

MESSAGE = "6887e835-a400-8000-8000-417ff82c5523"
OTHER = "6887e835-a480-8000-8000-417ff82c5523"


def write(
    folder: Path, file: int, *events: tuple[EventName, str], is_finished: bool = False, account: str = ACCOUNT
) -> None:
    """Writes a journal file with these events."""
    lines = b"".join(
        block_of(
            Line(v=VERSION, node="n1", incarnation="a", number=number, event=event, at_ms=file * 1_000 + number,
                 account=account, queue="orders", address=address)
        )
        + b"\n"
        for number, (event, address) in enumerate(events)
    )  # fmt: skip
    path = folder / name_of("n1", "0123456789abc", 1_790_000_000_000, file)
    if is_finished:
        path.with_suffix(".gz").write_bytes(gzip.compress(lines))
    else:
        path.write_bytes(lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, 1, (EventName.SENT, MESSAGE), (EventName.SENT, OTHER), is_finished=True)
    write(tmp_path, 2, (EventName.RECEIVED, MESSAGE), (EventName.DELETED, MESSAGE))
    return tmp_path


def test_events_of_one_message_are_found_in_order(folder: Path) -> None:
    found = search(folder, MESSAGE, ACCOUNT)

    assert [line.event for line in found.lines] == [EventName.SENT, EventName.RECEIVED, EventName.DELETED]
    assert (found.files, found.is_whole) == (2, True)


def test_a_damaged_file_hides_no_other(folder: Path) -> None:
    (folder / name_of("n1", "0123456789abc", 1_790_000_000_000, 3)).with_suffix(".gz").write_bytes(b"\x1f\x8bnot gzip")
    (folder / name_of("n1", "0123456789abc", 1_790_000_000_000, 4)).write_bytes(MESSAGE.encode() + b"\n\xff\n")

    assert len(search(folder, MESSAGE, ACCOUNT).lines) == 3


def test_others_of_the_same_line_are_not_found(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path)
    one, _ = bench.send("one", "other")
    bench.journal.moved(QUEUE, QUEUE, [(one.address, bench.message()), (9, bench.message())])
    bench.flush()

    found = search(tmp_path, one.message_id, QUEUE.account).lines

    assert [(line.event, line.address) for line in found] == [
        (EventName.SENT, one.message_id),
        (EventName.MOVED, one.message_id),
    ]
    assert [line.event for line in search(tmp_path, found[1].to_address, QUEUE.account).lines] == [EventName.MOVED]


def test_a_search_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_search, "EVENTS_MAX", 2)

    found = search(folder, MESSAGE, ACCOUNT)

    assert len(found.lines) == 2
    assert not found.is_whole


def test_so_many_bytes_are_read_and_no_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_search, "BYTES_MAX", 100)

    found = search(folder, MESSAGE, ACCOUNT)

    assert found.files == 1
    assert not found.is_whole


def test_without_a_folder_nothing_is_found(tmp_path: Path) -> None:
    assert search(tmp_path / "none", MESSAGE, ACCOUNT).lines == []


async def test_what_happened_in_another_account_is_nobodys_business(folder: Path) -> None:
    write(folder, 3, (EventName.RECEIVED, OTHER), account="111122223333")
    desk = await make_desk(about=About(journal=folder))
    await desk.bench.create("orders")

    page = await desk.get(f"/q/{ACCOUNT}/orders/messages/{OTHER}/journal", HX_Request="true")

    await desk.client.close()
    assert page.words.startswith("Sent ")
    assert "Received" not in page.words


async def test_the_page_shows_what_the_journal_has_of_a_message_that_is_gone(folder: Path) -> None:
    desk = await make_desk(about=About(journal=folder))
    await desk.bench.create("orders")

    page = await desk.get(f"/q/{ACCOUNT}/orders/messages/{MESSAGE}/journal", HX_Request="true")
    nonsense = await desk.get(f"/q/{ACCOUNT}/orders/messages/nonsense/journal", HX_Request="true")

    whole = await desk.get(f"/q/{ACCOUNT}/orders/messages/{MESSAGE}/journal")

    await desk.client.close()
    assert "In the event journal Sent " in whole.words
    assert whole.text.count("<h1>") == 1
    assert page.words.startswith("Sent ")
    assert "Deleted" in page.words
    assert "The whole journal was searched: 2 files." in page.words
    assert "this is not a message ID" in nonsense.words


async def test_the_journal_is_searched_once_at_a_time_and_few_wait(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search uses a core for seconds: eight at once made a send twenty times slower."""
    side_by_side: list[int] = []
    running: list[int] = []
    searches = Searches()
    at_once = WAITING_MAX + 1

    def watched(*arguments: object) -> Found:
        running.append(1)
        side_by_side.append(len(running))
        running.pop()
        return Found([], 0, True)

    monkeypatch.setattr(journal_search, "search", watched)
    asked = [asyncio.create_task(searches.search(folder, MESSAGE, ACCOUNT)) for _ in range(at_once + 3)]
    answers = await asyncio.gather(*asked, return_exceptions=True)

    assert side_by_side == [1] * at_once
    assert [isinstance(one, ServiceUnavailable) for one in answers] == [False] * at_once + [True] * 3
    assert (await searches.search(folder, MESSAGE, ACCOUNT)).is_whole
