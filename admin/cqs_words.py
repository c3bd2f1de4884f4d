"""Translates an API call to a `cqs` command line, where one exists.

SendMessage {"QueueUrl": "http://h/000000000000/orders", "MessageBody": "hi"}   ──►   send orders hi
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cqs.queue import name_of_arn

Params = Mapping[str, object]


class Names(NamedTuple):
    """How `cqs` refers to a queue: by its name in the `home` account, else by its URL."""

    endpoint: str
    home: str

    def of_url(self, url: str) -> str:
        return url.removeprefix(f"{self.endpoint}/{self.home}/")

    def of_arn(self, arn: str) -> str:
        name = name_of_arn(arn)
        return self.of_url(f"{self.endpoint}/{name.account}/{name.name}") if name is not None else arn


_Words = Callable[[Mapping[str, Any], Names], list[str] | None]


def words_of(action: str, params: Params, names: Names) -> list[str] | None:
    """The words after `cqs`; None = there is no such command."""
    say = _ACTIONS.get(action)
    return say(params, names) if say is not None else None


def _line(command: str, options: list[str], *given: str) -> list[str]:
    """Positional arguments come last, after `--` if one looks like an option."""
    end = ["--"] if any(one.startswith("-") for one in given) else []
    return [command, *options, *end, *given]


def _each(option: str, pairs: Mapping[str, str]) -> list[str]:
    return [word for name, value in pairs.items() for word in (option, f"{name}={value}")]


def _option(option: str, value: object) -> list[str]:
    return [] if value is None else [option, str(value)]


def _create(params: Mapping[str, Any], names: Names) -> list[str]:
    options = _each("-a", params.get("Attributes", {})) + _each("-t", params.get("tags", {}))
    return _line("create", options, params["QueueName"])


def _set(params: Mapping[str, Any], names: Names) -> list[str]:
    options = _each("-a", params.get("Attributes", {})) + _each("-t", params.get("Tags", {}))
    for key in params.get("TagKeys", ()):
        options += ["--untag", key]
    return _line("set", options, names.of_url(params["QueueUrl"]))


def _send(params: Mapping[str, Any], names: Names) -> list[str] | None:
    attributes = params.get("MessageAttributes", {})
    if any(one["DataType"] != "String" for one in attributes.values()):
        return None
    options = _each("-a", {name: one["StringValue"] for name, one in attributes.items()})
    options += _option("--delay", params.get("DelaySeconds")) + _option("--group", params.get("MessageGroupId"))
    options += _option("--dedup-id", params.get("MessageDeduplicationId"))
    return _line("send", options, names.of_url(params["QueueUrl"]), params["MessageBody"])


def _receive(params: Mapping[str, Any], names: Names) -> list[str]:
    options = _option("-n", params.get("MaxNumberOfMessages")) + _option("--wait", params.get("WaitTimeSeconds"))
    return _line("receive", options, names.of_url(params["QueueUrl"]))


def _peek(params: Mapping[str, Any], names: Names) -> list[str]:
    options = _option("--state", params.get("State")) + _option("--contains", params.get("ContainsText"))
    return _line("peek", options, names.of_url(params["QueueUrl"]))


def _resend(params: Mapping[str, Any], names: Names) -> list[str] | None:
    if "MessageAttributes" in params:
        return None
    target = params.get("DestinationQueueUrl")
    options = _option("--to", target if target is None else names.of_url(target)) + _option(
        "--body", params.get("MessageBody")
    )
    options += ["--delete"] if params.get("DeleteOriginal") else []
    return _line("resend", options, names.of_url(params["QueueUrl"]), params["MessageId"])


def _change(params: Mapping[str, Any], names: Names) -> list[str]:
    options = _option("--for", params.get("VisibilityTimeout"))
    return _line("change", options, names.of_url(params["QueueUrl"]), params["Change"], *params["MessageIds"])


def _redrive(params: Mapping[str, Any], names: Names) -> list[str]:
    target = params.get("DestinationArn")
    options = _option("--to", target if target is None else names.of_arn(target))
    options += _option("--rate", params.get("MaxNumberOfMessagesPerSecond"))
    return _line("redrive", options, names.of_arn(params["SourceArn"]))


_ACTIONS: Mapping[str, _Words] = {
    "ChangeMessages": _change,
    "CreateQueue": _create,
    "DeleteQueue": lambda params, names: _line("delete", ["--yes"], names.of_url(params["QueueUrl"])),
    "DrainNode": lambda params, names: ["drain"] if params.get("Draining", True) else ["drain", "--undo"],
    "GetQueueAttributes": lambda params, names: _line("set", [], names.of_url(params["QueueUrl"])),
    "ListQueues": lambda params, names: ["ls", "-l"],
    "PeekMessages": _peek,
    "PurgeQueue": lambda params, names: _line("purge", ["--yes"], names.of_url(params["QueueUrl"])),
    "ReceiveMessage": _receive,
    "ResendMessage": _resend,
    "SendMessage": _send,
    "SetQueueAttributes": _set,
    "StartMessageMoveTask": _redrive,
    "TagQueue": _set,
    "UntagQueue": _set,
}
