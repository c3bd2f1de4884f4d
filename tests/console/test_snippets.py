"""Equivalent commands: every action of the console shows its commands, and their programs accept each of them."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape

import botocore.session
import click
import pytest
from botocore import xform_name

from admin import snippets
from admin.console import About
from cqs.api.extensions import EXTENSIONS
from cqs.cli import cli
from cqs.identity import Role
from cqs.queue import Redrive
from tests.console.desk import Desk, make_desk
from tests.engine import ACCOUNT

_COPIED = re.compile(r'data-copy="([^"]*)"')
_FIFO = f"/q/{ACCOUNT}/line.fifo"
_ORDERS = f"/q/{ACCOUNT}/orders"
_STATES = ("ready", "in_flight", "delayed")
AWS = botocore.session.get_session().get_service_model("sqs")


@pytest.fixture
async def copied(desk: Desk) -> dict[str, list[str]]:
    """Returns the commands that pages with actions offer to copy, by the first word of each line."""
    bench = desk.bench
    dead = await bench.create("orders-dead")
    orders = await bench.create("orders", redrive=Redrive(dead.arn, 3))
    await bench.create("line.fifo")
    await bench.send(dead, "-x it's dead")
    await bench.send(orders, "ready", "-held")
    await bench.receive(orders, 1)
    await desk.add_user("alice", Role.ADMINISTRATOR)
    await desk.log_in("alice")
    blank = {"attribute_name": "", "attribute_type": "String", "attribute_value": ""}
    await desk.post(f"{_ORDERS}/send", blank, body="later", delay="60")
    pages = ["/queues", "/queues/new", "/queues/sure?do=purge&chosen=orders", "/queues/sure?do=delete&chosen=orders"]
    pages += ["/nodes", "/users", "/users/alice", f"{_FIFO}/send", f"/q/{ACCOUNT}/orders-dead/dead-letters", _ORDERS]
    pages += [f"{_ORDERS}/{name}" for name in ("settings", "policy", "send")]
    for state in _STATES:
        listed = await desk.get(f"{_ORDERS}/messages?state={state}")
        found = re.search(r'id="m-([0-9a-f-]{36})', listed.text)
        assert found is not None, state
        pages += [f"{_ORDERS}/messages?state={state}", f"{_ORDERS}/messages/{found[1]}"]
        pages.append(f"{_ORDERS}/messages/{found[1]}/edit")
    moving = await desk.post(f"/q/{ACCOUNT}/orders-dead/redrive", which="all")
    pages.append(moving.path.removeprefix("/ADMIN"))
    lines: dict[str, list[str]] = {"aws": [], "cqs": [], "curl": []}
    for path in pages:
        page = await desk.get(path)
        assert page.status == 200, path
        for text in _COPIED.findall(page.text):
            for line in unescape(text).splitlines():
                if line.partition(" ")[0] in lines:
                    lines[line.partition(" ")[0]].append(line)
    return lines


async def test_every_action_of_the_console_can_be_copied(copied: dict[str, list[str]]) -> None:
    told = {re.findall(r"AmazonSQS\.(\w+)", line)[0] for line in copied["curl"]}
    changes = {json.loads(shlex.split(line)[-1]).get("Change") for line in copied["curl"]}

    assert told >= {
        "AddPermission", "CancelMessageMoveTask", "ChangeMessages", "CreateQueue", "DeleteQueue", "DrainNode",
        "GetQueueAttributes", "ListQueues", "PeekMessages", "PurgeQueue", "ReceiveMessage", "RemovePermission",
        "ResendMessage", "SendMessage", "SendMessageBatch", "SetQueueAttributes", "StartMessageMoveTask",
    }  # fmt: skip
    assert changes >= {"delete", "reveal", "hide", "hasten"}
    words = {" ".join(shlex.split(line)[1:3]) for line in copied["cqs"]}
    assert words >= {"user add", "user role", "user passwd", "user disable", "user delete", "key add", "key delete"}


async def test_every_command_of_ours_is_one(copied: dict[str, list[str]]) -> None:
    for line in set(copied["cqs"]):
        words = shlex.split(line.partition(" < ")[0])[1:]
        command: click.Command = cli
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words.pop(0))
            assert found is not None, line
            command = found
        assert command.make_context(line, words).params, line


async def test_every_command_of_the_aws_cli_is_one(copied: dict[str, list[str]]) -> None:
    operations = {xform_name(name, "-"): AWS.operation_model(name) for name in AWS.operation_names}
    for line in set(copied["aws"]):
        words = shlex.split(line)
        place = words.index("sqs")
        operation = operations[words[place + 1]]
        shape = operation.input_shape
        members = {xform_name(name, "-") for name in (shape.members if shape is not None else ())}
        assert {word[2:] for word in words[place + 2 :: 2]} <= members, line


def test_what_aws_has_not_is_known() -> None:
    assert {one.name for one in EXTENSIONS} - set(AWS.operation_names) == snippets.NOT_OF_AWS


@pytest.mark.parametrize("mode", ["open", "signed"])
async def test_curl_signs_where_that_is_asked_for(mode: str) -> None:
    desk = await make_desk(about=About(mode=mode))
    await desk.bench.create("orders")
    texts = [unescape(text) for text in _COPIED.findall((await desk.get("/queues")).text)]
    await desk.client.close()

    assert texts[-1].startswith("curl ")
    assert ('--user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"' in texts[-1]) == (mode == "signed")
