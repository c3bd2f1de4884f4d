"""The commands that talk to a server, with a server on a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cqs.cli import cli
from cqs.commands import receive, redrive
from cqs.commands.server_command import table
from tests.protocol.measured import Measured, measured
from tests.unit.dead_letters import one_pair, running


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands in a thread, because the server needs the event loop."""

    node: Measured

    async def run(self, *arguments: str, given: str | bytes | None = None) -> Result:
        env = {"AWS_ENDPOINT_URL_SQS": f"http://127.0.0.1:{self.node.door.port}"}
        return await asyncio.to_thread(CliRunner().invoke, cli, arguments, given, env)

    async def text(self, *arguments: str, given: str | None = None) -> str:
        """Runs a command that must succeed. Returns its standard output."""
        result = await self.run(*arguments, given=given)
        assert result.exit_code == 0, result.output
        return result.stdout

    async def json(self, *arguments: str, given: str | None = None) -> Any:
        return json.loads(await self.text(*arguments, "-o", "json", given=given))


@pytest.fixture
async def shell() -> AsyncIterator[Shell]:
    async with measured() as node:
        yield Shell(node)


async def test_queue_is_created_listed_and_deleted(shell: Shell) -> None:
    url = (await shell.text("create", "new.fifo", "-a", "ContentBasedDeduplication=true", "-t", "team=a")).strip()

    assert url.endswith("/000000000000/new.fifo")
    assert (await shell.text("ls")).split() == ["new.fifo", "orders", "orders.fifo"]
    assert (await shell.text("ls", "new")).split() == ["new.fifo"]
    assert (await shell.run("delete", "new.fifo")).exit_code == 2
    await shell.text("delete", "new.fifo", "--yes")
    assert await shell.text("ls", "new") == ""
    assert await shell.json("ls", "new") == []


async def test_message_is_sent_peeked_received_and_deleted(shell: Shell) -> None:
    message_id = (await shell.text("send", "orders", "hello", "-a", "colour=blue", "--group", "t1")).strip()

    assert (await shell.json("peek", "orders"))[0]["MessageId"] == message_id
    assert message_id in await shell.text("peek", "orders", "--contains", "HELL", "-a", "colour=blue")
    assert (await shell.json("peek", "orders", "--id", message_id))[0]["Body"] == "hello"
    assert await shell.json("peek", "orders", "-a", "colour=red") == []
    (message,) = await shell.json("receive", "orders")
    assert message["MessageAttributes"]["colour"]["StringValue"] == "blue"
    await shell.text("delete", "orders", message["ReceiptHandle"])
    assert await shell.json("peek", "orders", "--state", "in_flight") == []


async def test_body_comes_from_standard_input(shell: Shell) -> None:
    await shell.text("send", "orders", given="two\nlines\n")

    assert await shell.text("receive", "orders", "--delete") == "two\nlines\n\n"
    assert await shell.text("receive", "orders") == ""


async def test_a_terminal_is_shown_nothing_that_it_would_obey(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Escape sequences also begin with a single character beyond ASCII, which SQS allows in bodies."""
    body = "red\u009b31m \u202egnp.exe\ttab\nline"
    await shell.text("send", "orders", body)

    piped = await shell.text("receive", "orders", "--visibility", "0")
    monkeypatch.setattr(receive, "_is_screen", lambda: True)
    seen = await shell.text("receive", "orders")

    assert piped == body + "\n"
    assert seen == "red\\x9b31m \\u202egnp.exe\ttab\nline\n"


async def test_line_ends_of_a_body_are_kept_and_bad_text_is_refused(shell: Shell) -> None:
    await shell.text("send", "orders", given="a\r\nb")
    assert (await shell.json("peek", "orders"))[0]["Body"] == "a\r\nb"

    refused = await shell.run("send", "orders", given=b"\xff")
    assert (refused.exit_code, "not UTF-8" in refused.stderr) == (1, True)


async def test_lines_are_messages_and_come_in_order(shell: Shell) -> None:
    given = "".join(f"line {number}\n" for number in range(25)) + "\n"

    sent = await shell.text("send", "orders.fifo", "--lines", "--group", "g", "--dedup-id", "run-1-", given=given)

    assert len(sent.split()) == 25
    assert [message["Body"] for message in await shell.json("peek", "orders.fifo", "-n", "100")] == given.split("\n")[
        :25
    ]


async def test_refused_line_is_named(shell: Shell) -> None:
    result = await shell.run("send", "orders", "--lines", given="good\nbad\x01\n")

    assert result.exit_code == 1
    assert "line 2: " in result.stderr


async def test_peek_goes_on_to_the_count_over_pages(shell: Shell) -> None:
    for _ in range(13):
        await shell.node.bench.send(shell.node.world.standard, *"abcdefghij")

    assert len(await shell.json("peek", "orders", "-n", "120")) == 120
    assert len(await shell.json("peek", "orders", "-n", "500")) == 130


async def test_long_listing_counts(shell: Shell) -> None:
    await shell.node.bench.send(shell.node.world.standard, "one", "two")

    lines = (await shell.text("ls", "-l", "--with-messages")).splitlines()

    assert [line.split() for line in lines][1:] == [["orders", "2", "0", "0"]]


async def test_purge_wants_to_be_told_twice(shell: Shell) -> None:
    await shell.node.bench.send(shell.node.world.standard, "one")

    refused = await shell.run("purge", "orders")
    assert (refused.exit_code, "--yes" in refused.stderr) == (2, True)
    await shell.text("purge", "orders", "--yes")

    assert await shell.json("peek", "orders") == []


async def test_dead_letters_go_back(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrive, "POLL_S", 0.01)
    bench = shell.node.bench
    orders, _ = await one_pair(bench, "a", "b", suffix="-1")

    async with running(bench):
        output = await shell.text("redrive", "dead-1", "--wait")

    assert output.splitlines()[-1].split()[:3] == ["COMPLETED", "2", "2"]
    assert (await bench.counts(orders)).ready == 2
    assert [task["Status"] for task in await shell.json("redrive", "dead-1", "--list")] == ["COMPLETED"]
    assert (await shell.run("redrive", "dead-1", "--cancel")).exit_code == 3


async def test_move_is_cancelled(shell: Shell) -> None:
    await one_pair(shell.node.bench, "a", suffix="-1")

    await shell.text("redrive", "dead-1", "--rate", "1")

    assert await shell.json("redrive", "dead-1", "--cancel") == {"ApproximateNumberOfMessagesMoved": 0}
    assert "is being cancelled already" in str((await shell.run("redrive", "dead-1", "--cancel")).exception)


@pytest.mark.parametrize(
    "arguments",
    [
        ("peek", "none"),
        ("receive", "none"),
        ("send", "none", "x"),
        ("peek", "orders", "--id", "none"),
        ("purge", "none", "--yes"),
    ],
)
async def test_what_does_not_exist_is_exit_code_3(shell: Shell, arguments: tuple[str, ...]) -> None:
    result = await shell.run(*arguments)

    assert result.exit_code == 3
    assert result.stderr.startswith("cqs: ")
    assert result.stderr.count("\n") == 1


async def test_a_refusal_says_what_to_do(shell: Shell) -> None:
    missing = (await shell.run("send", "none", "x")).stderr
    no_group = (await shell.run("send", "orders.fifo", "x")).stderr
    no_id = await shell.run("send", "orders.fifo", "x", "--group", "g")
    no_ids = await shell.run("send", "orders.fifo", "--lines", "--group", "g", given="x\n")
    no_dead_letters = await shell.run("redrive", "orders")

    assert "'none'; `cqs ls`" in missing and "`cqs create`" in missing
    assert "--group" in no_group
    for result in (no_id, no_ids):
        assert result.exit_code == 1 and "--dedup-id" in str(result.exception or result.output)
    assert no_dead_letters.exit_code == 1 and "RedrivePolicy" in str(no_dead_letters.exception)


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "x", "-a", "VisibilityTimeout"),
        ("send", "orders", "x", "--lines"),
        ("send", "orders.fifo", "x"),
        ("receive", "orders", "-n", "11"),
        ("peek", "orders", "--state", "gone"),
        ("ls", "--nonsense"),
    ],
)
async def test_wrong_usage_is_exit_code_2(shell: Shell, arguments: tuple[str, ...]) -> None:
    assert (await shell.run(*arguments)).exit_code == 2


async def test_empty_queue_is_told_beside_the_output(shell: Shell) -> None:
    received = await shell.run("receive", "orders")

    assert (received.exit_code, received.stdout, received.stderr) == (0, "", "no messages\n")


async def test_table_shows_no_character_that_moves_the_cursor(shell: Shell) -> None:
    await shell.node.bench.send(shell.node.world.standard, "evil\u202e\tbody\x7f")

    assert r"evil\u202e\tbody\x7f" in await shell.text("peek", "orders")


async def test_node_is_drained_and_taken_in_again(shell: Shell) -> None:
    engine = shell.node.bench.engine

    assert "is draining: 0 waiting receives answered" in await shell.text("drain")
    assert engine.waiters.is_draining
    assert await shell.json("drain", "--undo") == {"Draining": False, "AnsweredReceives": 0, "Workers": 1}
    assert not engine.waiters.is_draining


async def test_settings_stand_at_the_left_whatever_is_beside_them(shell: Shell) -> None:
    await shell.text("set", "orders", "-t", "purpose=" + "long " * 9)

    lines = (await shell.text("set", "orders")).splitlines()

    assert [line.split()[1] for line in lines if line.startswith(("name", "DelaySeconds"))] == ["value", "0"]
    assert {len(line) - len(line.split(maxsplit=1)[1]) for line in lines if not line.startswith("tag")} == {
        lines[0].index("value")
    }


def test_numbers_stand_at_the_right_under_their_title() -> None:
    text = table(["queue", "in", ""], [["7", 5, "x"], ["long name", 1_000, 2]])

    assert text.splitlines() == ["queue        in", "7             5  x", "long name  1000  2"]
