"""`cqs set`, `cqs resend` and `cqs change`, for manual repairs, with a server on a real socket."""

from __future__ import annotations

import json

import pytest

from cqs.commands.client import CallFailed
from tests.protocol.world import STANDARD
from tests.unit.test_commands import Shell, shell

__all__ = ["shell"]
NOBODY = "00000000-0000-4000-8000-000000000000"


async def ids(shell: Shell, state: str = "ready") -> list[str]:
    return [one["MessageId"] for one in await shell.json("peek", "orders", "-n", "50", "--state", state)]


async def test_settings_and_tags_are_changed_and_shown(shell: Shell) -> None:
    await shell.text("set", "orders", "-a", "VisibilityTimeout=77", "-t", "team=a", "-t", "stage=b")
    await shell.text("set", "orders", "--untag", "stage")

    shown = await shell.json("set", "orders")
    assert (shown["Attributes"]["VisibilityTimeout"], shown["Tags"]) == ("77", {"team": "a"})
    assert "tag team" in await shell.text("set", "orders")


async def test_a_setting_that_is_refused_changes_no_tag(shell: Shell) -> None:
    result = await shell.run("set", "orders", "-a", "VisibilityTimeout=-1", "-t", "team=a")

    assert isinstance(result.exception, CallFailed)
    assert (await shell.json("set", "orders"))["Tags"] == {}


async def test_messages_are_sent_again_elsewhere(shell: Shell) -> None:
    await shell.text("create", "other")
    await shell.text("send", "orders", "-a", "colour=blue", "--", "--brokne")

    new = await shell.text("resend", "orders", *await ids(shell), "--to", "other", "--body", "mended", "--delete")

    (message,) = await shell.json("peek", "other")
    assert (message["MessageId"], message["Body"]) == (new.strip(), "mended")
    assert message["MessageAttributes"]["colour"]["StringValue"] == "blue"
    assert await ids(shell) == []


async def test_messages_are_changed_by_their_ids(shell: Shell) -> None:
    await shell.text("send", "orders", "one")
    await shell.text("receive", "orders")
    held = await ids(shell, "in_flight")

    assert (await shell.text("change", "orders", "hide", "--for", "900", *held)).strip() == "1"
    assert await ids(shell, "in_flight") == held
    assert await shell.json("change", "orders", "reveal", *held) == {"Changed": 1}
    assert await ids(shell) == held
    await shell.node.world.json("SendMessage", QueueUrl=STANDARD, MessageBody="later", DelaySeconds=60)
    await shell.text("change", "orders", "hasten", *await ids(shell, "delayed"))
    assert len(await ids(shell)) == 2
    await shell.text("change", "orders", "delete", *await ids(shell))
    assert await ids(shell) == []


async def test_what_could_not_be_changed_is_named(shell: Shell) -> None:
    result = await shell.run("change", "orders", "delete", NOBODY, "-o", "json")

    assert json.loads(result.stdout) == {"Changed": 0, "Missed": [NOBODY]}
    assert isinstance(result.exception, CallFailed)
    assert NOBODY in str(result.exception)


@pytest.mark.parametrize(
    "arguments",
    [
        ("change", "orders", "hide", NOBODY),
        ("change", "orders", "delete", NOBODY, "--for", "5"),
        ("change", "orders", "burn", NOBODY),
        ("change", "orders", "delete"),
        ("resend", "orders"),
        ("set", "orders", "-t", "team"),
    ],
)
async def test_wrong_usage_is_exit_code_2(shell: Shell, arguments: tuple[str, ...]) -> None:
    assert (await shell.run(*arguments)).exit_code == 2
