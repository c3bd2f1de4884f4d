"""The change log: it has every attempt, is durable, searchable and bounded, and can be downloaded."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
from pathlib import Path

import pytest

from admin import action_log
from admin.action_log import ActionLog, Line, Question
from cqs.identity import Role
from cqs.queue import QueueName
from cqs.service import queues
from tests.console.desk import Desk
from tests.console.hostile import TEXTS
from tests.engine import ACCOUNT

OTHER = "111122223333"


def line(number: int, **more: str) -> Line:
    return Line(**({"at_ms": number, "who": "alice", "action": "Test"} | more))  # type: ignore[arg-type]


def files_of(folder: Path) -> list[Path]:
    return list(folder.glob("*.jsonl"))


async def test_what_was_done_and_what_failed_is_written_down(desk: Desk) -> None:
    await desk.bench.create("orders")
    await desk.get("/queues")
    await desk.post("/queues/purge", chosen="orders", typed="orders")
    await desk.post("/queues/purge", chosen="orders", typed="order")
    await desk.post(f"/q/{ACCOUNT}/orders/policy", policy="{")

    page = await desk.get("/changes")

    assert page.words.count("PurgeQueue") == 1, "what was only typed wrongly is no change"
    assert "SetQueuePolicy" in page.words
    assert "failed" in page.words


async def test_the_log_survives_a_restart(desk: Desk) -> None:
    await desk.console.actions.add(line(1))

    again = ActionLog(Path(desk.console.actions.where))

    assert [one.at_ms for one in (await again.find(Question(), 10))[0]] == [1]


async def test_lines_are_found_by_text_person_action_and_result(tmp_path: Path) -> None:
    log = ActionLog(tmp_path)
    await log.add(line(1, who="alice", action="CreateQueue", target="orders"))
    await log.add(line(2, who="bob", action="PurgeQueue", target="orders", error="too soon"))
    await log.add(line(3, who="bob", action="CreateQueue", target="mails", detail="DelaySeconds=5"))

    async def found(**question: object) -> list[int]:
        lines, _ = await log.find(Question(**question), 10)  # type: ignore[arg-type]
        return [one.at_ms for one in lines]

    assert await found() == [3, 2, 1]
    assert await found(text="ORDERS bob") == [2]
    assert await found(who="bob", action="CreateQueue") == [3]
    assert await found(is_failed_only=True) == [2]
    assert await found(skip=1) == [2, 1]
    assert await found(text="delayseconds") == [3]


async def test_older_lines_are_reached_page_by_page(desk: Desk) -> None:
    for number in range(1, 151):
        await desk.console.actions.add(line(number))

    first = await desk.get("/changes")
    path = first.text.partition('class="pager"><a class="button small" href="')[2].partition('"')[0]
    second = await desk.get(path.replace("&amp;", "&").removeprefix("/ADMIN"))

    assert first.text.count("data-row") == 100
    assert second.text.count("data-row") == 50


async def test_lines_of_one_moment_are_all_reached(desk: Desk) -> None:
    await desk.console.actions.add(*(line(1, target=f"t{number}") for number in range(150)))

    first = await desk.get("/changes")
    path = first.text.partition('class="pager"><a class="button small" href="')[2].partition('"')[0]
    second = await desk.get(path.replace("&amp;", "&").removeprefix("/ADMIN"))

    assert {f"t{number}" for number in range(150)} <= set((first.words + second.words).split())


async def test_what_concerns_an_account_is_counted_without_what_does_not(desk: Desk) -> None:
    await desk.add_user("root", Role.ADMINISTRATOR)
    await desk.add_user("far", Role.ADMINISTRATOR, OTHER)
    await desk.log_in("far")
    await desk.console.actions.add(line(1, account=OTHER, target="long-ago"))
    await desk.console.actions.add(*(line(2, account=ACCOUNT) for _ in range(200)))

    page = await desk.get("/changes")

    assert "long-ago" in page.words
    assert 'class="pager"' not in page.text


async def test_the_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(action_log, "FILE_BYTES_MAX", 500)
    log = ActionLog(tmp_path)
    for number in range(200):
        await log.add(line(number))

    files = files_of(tmp_path)
    lines, _ = await log.find(Question(), 1_000)

    assert len(files) == action_log.FILES_MAX
    assert sum(path.stat().st_size for path in files) <= 500 * action_log.FILES_MAX
    assert [one.at_ms for one in lines] == list(range(199, 199 - len(lines), -1))
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)


async def test_a_full_disk_does_not_keep_an_administrator_from_making_room(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = ActionLog(tmp_path / "file" / "console")

    await log.add(line(1))


@pytest.mark.parametrize(
    "damage", [b'{"at_ms": 2, "who"\n\xff\xfe\n', b'{"at_ms": 2, "who"'], ids=["damaged", "broken off"]
)
async def test_a_line_that_is_damaged_or_broke_off_takes_no_other_with_it(tmp_path: Path, damage: bytes) -> None:
    log = ActionLog(tmp_path)
    await log.add(line(1))
    with (tmp_path / "actions.jsonl").open("ab") as file:
        file.write(damage)
    await log.add(line(3))

    assert [one.at_ms for one in (await log.find(Question(), 10))[0]] == [3, 1]


async def test_a_line_for_which_the_disk_has_no_room_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = ActionLog(tmp_path)
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:10]))
    await log.add(line(1))

    assert "console_action_not_written" in capsys.readouterr().out


async def test_many_lines_at_once_turn_the_file_as_one_by_one_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(action_log, "FILE_BYTES_MAX", 500)
    log = ActionLog(tmp_path)
    await log.add(*(line(number) for number in range(30)))

    assert [one.at_ms for one in (await log.find(Question(), 100))[0]] == list(range(29, -1, -1))
    assert all(path.stat().st_size <= 500 for path in files_of(tmp_path))


async def test_workers_that_turn_the_file_at_the_same_time_lose_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(action_log, "FILE_BYTES_MAX", 200)
    monkeypatch.setattr(action_log, "FILES_MAX", 100)
    workers = [ActionLog(tmp_path) for _ in range(4)]

    async def work(place: int) -> None:
        for number in range(place, 160, len(workers)):
            await workers[place].add(line(number))

    await asyncio.gather(*map(work, range(len(workers))))
    lines, _ = await workers[0].find(Question(), 1_000)

    assert sorted(one.at_ms for one in lines) == list(range(160))
    assert len(files_of(tmp_path)) < action_log.FILES_MAX


async def test_without_a_folder_the_last_lines_are_kept_in_memory() -> None:
    log = ActionLog()
    for number in range(action_log.LINES_MAX + 5):
        await log.add(line(number))

    lines, is_more = await log.find(Question(), 3)

    assert [one.at_ms for one in lines] == [action_log.LINES_MAX + 4 - place for place in range(3)]
    assert is_more


async def test_a_line_is_cut_to_a_bearable_length(tmp_path: Path) -> None:
    log = ActionLog(tmp_path)
    await log.add(line(1, detail="x" * 100_000))

    detail = (await log.find(Question(), 1))[0][0].detail
    assert (len(detail), detail[-1]) == (action_log.TEXT_MAX, "…")


async def test_the_log_is_taken_away_without_formulas(desk: Desk) -> None:
    for number, text in enumerate(TEXTS):
        await desk.console.actions.add(line(number + 1, who=text, detail=text, account=ACCOUNT))

    table = await desk.get("/changes.csv")
    lines = await desk.get("/changes.jsonl")

    rows = list(csv.reader(io.StringIO(table.raw.decode("utf-8-sig"))))[1:]
    assert len(rows) == len(TEXTS)
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]
    assert [json.loads(one)["who"] for one in lines.raw.splitlines()] == list(TEXTS)


async def test_administrators_of_one_account_see_what_was_done_in_it(desk: Desk) -> None:
    await desk.add_user("root", Role.ADMINISTRATOR)
    await desk.add_user("far", Role.ADMINISTRATOR, "111122223333")
    await desk.log_in("root")
    await desk.get("/")
    await desk.post("/users/add", {"name": "zacharias", "role": "operator"})

    await desk.log_in("far")

    for path in ("/changes", "/changes.csv", "/changes.jsonl"):
        assert "zacharias" not in (await desk.get(path)).text


async def test_an_administrator_of_an_account_sees_what_others_did_to_its_queues(desk: Desk) -> None:
    await desk.add_user("root", Role.ADMINISTRATOR)
    await desk.add_user("theirs", Role.ADMINISTRATOR, OTHER)
    for account in (OTHER, ACCOUNT):
        await queues.create(desk.bench.engine, QueueName(account, "orders"), {}, {})
    await desk.log_in("root")
    for account in (OTHER, ACCOUNT):
        await desk.post("/queues/purge", chosen="orders", typed="orders", account=account)
        await desk.post(f"/q/{account}/orders/policy/add", label="all", accounts=OTHER, actions="*")
    await desk.post("/log-out")
    await desk.log_in("theirs")

    seen = (await desk.get("/changes.csv")).text

    assert f"{OTHER}/orders" in seen
    assert f":{OTHER}:orders" in seen
    assert f"{ACCOUNT}/orders" not in seen
    assert f":{ACCOUNT}:orders" not in seen
