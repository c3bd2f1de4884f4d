"""The same by command line: what a page does, as AWS CLI and as boto3, ready to paste.

Everything is quoted for its language: a shell word, a Python literal. The CLI reads arguments that look like an address
(`file://…`) from there, so such calls are written with --cli-input-json, where nothing is fetched.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping

from admin.visit import Visit
from cqs.queue import Queue

Params = Mapping[str, object]
Snippets = list[tuple[str, str]]
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FETCHED = re.compile(r"(file|fileb|https?)://", re.IGNORECASE)


def snippets(visit: Visit, *calls: tuple[str, Params]) -> Snippets:
    """The calls, one after the other: action and parameters by their names in the API."""
    region = visit.console.engine.tuning.region
    commands = [_cli(visit.endpoint, region, action, params) for action, params in calls]
    client = f"sqs = boto3.client('sqs', endpoint_url={visit.endpoint!r}, region_name={region!r})"
    lines = ["import boto3", "", client, *(_boto3(action, params) for action, params in calls)]
    return [("AWS CLI", "\n".join(commands)), ("boto3", "\n".join(lines))]


def url_of(visit: Visit, queue: Queue) -> str:
    """The queue's address for API clients."""
    return f"{visit.endpoint}/{queue.account}/{queue.name}"


def _cli(endpoint: str, region: str, action: str, params: Params) -> str:
    words = ["aws", "--endpoint-url", endpoint, "--region", region, "sqs", _kebab(action)]
    if any(isinstance(value, str) and _FETCHED.match(value) for name, value in params.items() if name != "QueueUrl"):
        return shlex.join([*words, "--cli-input-json", json.dumps(params, ensure_ascii=False)])
    for name, value in params.items():
        words.append(f"--{_kebab(name)}")
        words.append(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return shlex.join(words)


def _boto3(action: str, params: Params) -> str:
    arguments = "".join(f"\n    {name}={value!r}," for name, value in params.items())
    return f"print(sqs.{_kebab(action).replace('-', '_')}({arguments}\n))"


def _kebab(name: str) -> str:
    return _WORD.sub("-", name).lower()
