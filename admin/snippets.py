"""What a page does, as commands to paste: `cqs`, AWS CLI, boto3 and curl.

Everything is quoted for its language: a shell word, a Python literal. The AWS CLI fetches arguments that look like a
URL (`file://…`), so such calls use --cli-input-json, where nothing is fetched. Actions that AWS does not have are given
only for `cqs` and curl.
"""

from __future__ import annotations

import json
import re
import shlex

from admin.cqs_words import Names, Params, words_of
from admin.visit import Visit
from cqs.queue import Queue

Snippets = list[tuple[str, str]]
ELLIPSIS = "\u2026"
"""A placeholder that the user has to fill in."""
NOT_OF_AWS = frozenset(
    {
        "ChangeMessages",
        "DrainNode",
        "GetMessage",
        "GetNodeStatistics",
        "HealthCheck",
        "PeekMessages",
        "ResendMessage",
    }
)
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_FETCHED = re.compile(r"(file|fileb|https?)://", re.IGNORECASE)
_LINE_END = "\n"
_KEYS = '--user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"'


def snippets(visit: Visit, *calls: tuple[str, Params], cqs: str = "") -> Snippets:
    """The calls, in order: action and parameters by their API names. `cqs`: the words after `cqs`, if they can't be
    derived from the parameters."""
    region = visit.console.engine.tuning.region
    found = []
    own = [_own(visit, cqs)] if cqs else [_own(visit, words) for call in calls if (words := _words(visit, *call))]
    if cqs or len(own) == len(calls):
        found.append(("cqs", "\n".join(own)))
    if not any(action in NOT_OF_AWS for action, _ in calls):
        commands = [_keys_in_front(visit) + _cli(visit.endpoint, region, action, params) for action, params in calls]
        lines = ["import boto3", "", _client(visit, region), *(_boto3(action, params) for action, params in calls)]
        found += [("AWS CLI", "\n".join(commands)), ("boto3", "\n".join(lines))]
    proof = _proof(visit, region)
    found.append(("curl", "\n".join(_curl(visit.endpoint, proof, action, params) for action, params in calls)))
    return found


def of_each(visit: Visit, *acts: tuple[str, str, Params]) -> Snippets:
    """Several independent actions of a page: label, action and parameters of each."""
    return [
        (f"{name}: {title}", text) for name, action, params in acts for title, text in snippets(visit, (action, params))
    ]


def url_of(visit: Visit, queue: Queue) -> str:
    """The queue's URL for API clients."""
    return f"{visit.endpoint}/{queue.account}/{queue.name}"


def named(visit: Visit, arn: str) -> str:
    """How `cqs` refers to the queue."""
    return Names(visit.endpoint, visit.console.about.home).of_arn(arn)


def _words(visit: Visit, action: str, params: Params) -> str:
    words = words_of(action, params, Names(visit.endpoint, visit.console.about.home))
    return shlex.join(words) if words is not None else ""


def _own(visit: Visit, words: str) -> str:
    command, _, rest = words.partition(" ")
    return f"cqs {command} --endpoint {shlex.quote(visit.endpoint)} {rest}".rstrip()


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
    return f"print(sqs.{_kebab(action).replace('-', '_')}({arguments}{arguments and _LINE_END}))"


def _keys_in_front(visit: Visit) -> str:
    """AWS's tools require keys, and in open mode any keys will do."""
    return f"AWS_ACCESS_KEY_ID={visit.account} AWS_SECRET_ACCESS_KEY=any " if _is_open(visit) else ""


def _client(visit: Visit, region: str) -> str:
    keys = f", aws_access_key_id={visit.account!r}, aws_secret_access_key='any'" if _is_open(visit) else ""
    return f"sqs = boto3.client('sqs', endpoint_url={visit.endpoint!r}, region_name={region!r}{keys})"


def _is_open(visit: Visit) -> bool:
    return visit.console.about.mode == "open"


def _proof(visit: Visit, region: str) -> str:
    """curl's credentials options, where the server needs them."""
    about = visit.console.about
    if _is_open(visit):
        return f"--aws-sigv4 aws:amz:{region}:sqs --user {visit.account}:any" if visit.account != about.home else ""
    return f"--aws-sigv4 aws:amz:{region}:sqs {_KEYS}"


def _curl(endpoint: str, proof: str, action: str, params: Params) -> str:
    """curl's `-d` reads an argument that begins with @ from a file; JSON begins with a brace."""
    told = shlex.join(["-H", "Content-Type: application/x-amz-json-1.0", "-H", f"X-Amz-Target: AmazonSQS.{action}"])
    body = shlex.join(["-d", json.dumps(params, ensure_ascii=False)])
    return " ".join(one for one in ("curl", shlex.quote(endpoint + "/"), proof, told, body) if one)


def _kebab(name: str) -> str:
    return _WORD.sub("-", name).lower()
