"""The same sequence of calls by AWS's SDKs for Go, Java and JavaScript to a server that checks their signatures. Each
SDK finds the server only by AWS_ENDPOINT_URL_SQS, checks digests itself, and records the responses."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cqs.errors import SignatureDoesNotMatch
from tests.integration.process import ROOT, Served
from tests.integration.signed import CLOCK_AHEAD, KEYS, OURS, signed_server
from tests.needs import needs
from tests.sdk.behaviour.test_message_attributes import digest
from tests.sdk.toolchains import JAVA_PROGRAM, go_program, java_classes, node_folder, pointed_at

HERE = Path(__file__).parent
SPOKEN_S_MAX = 150
BODY = 'h\u00e9llo <&> "\r\n\t\U0001d11e'
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "text": {"DataType": "String.label", "StringValue": "\u00fc"},
    "number": {"DataType": "Number", "StringValue": "-1.5"},
    "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
}
TRACE: dict[str, dict[str, Any]] = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-2-3"}}
OF_NO_SHAPE = {"go": "GenericAPIError", "java": "SqsException", "javascript": "SQSServiceException"}
"""Classes for errors that are not in AWS's model of SQS."""


class Error(NamedTuple):
    """An error as in AWS. JavaScript reports the shape's name instead of the code, if there is a shape."""

    shape: str
    code: str
    text: str
    status: int = 400


def _batch(shape: str, text: str) -> Error:
    return Error(shape, f"AWS.SimpleQueueService.{shape}", text)


def _same(name: str, text: str) -> Error:
    return Error(name, name, text)


ERRORS = {
    "missing queue": Error(
        "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist."
    ),
    "other attributes": Error(
        "QueueNameExists",
        "QueueAlreadyExists",
        "A queue already exists with the same name and a different value for attribute VisibilityTimeout",
    ),
    "attribute": _same("InvalidAttributeName", "Unknown Attribute Nonsense."),
    "value": _same(
        "InvalidAttributeValue",
        "Invalid value for the parameter VisibilityTimeout. Reason: Must be between 0 and 43200.",
    ),
    "receipt": _same("ReceiptHandleIsInvalid", 'The input receipt handle "none" is not a valid receipt handle.'),
    "character": _same(
        "InvalidMessageContents",
        "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | "
        "#x10000 to #x10FFFF",
    ),
    "eleven": Error(
        "",
        "InvalidParameterValue",
        "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
    ),
    "too long": Error(
        "",
        "InvalidParameterValue",
        "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.",
    ),
    "no group": Error("", "MissingParameter", "The request must contain the parameter MessageGroupId."),
    "batch too long": _batch(
        "BatchRequestTooLong", "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."
    ),
    "empty batch": _batch(
        "EmptyBatchRequest", "There should be at least one SendMessageBatchRequestEntry in the request."
    ),
    "eleven in a batch": _batch(
        "TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. You have sent 11."
    ),
    "one id": _batch("BatchEntryIdsNotDistinct", "Id 0 repeated."),
    "id": _batch(
        "InvalidBatchEntryId",
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 "
        "letters long.",
    ),
    "purge": Error(
        "PurgeQueueInProgress",
        "AWS.SimpleQueueService.PurgeQueueInProgress",
        "Only one PurgeQueue operation on {queue} is allowed every 60 seconds.",
        403,
    ),
    "no such queue to move": Error(
        "ResourceNotFoundException",
        "ResourceNotFoundException",
        "The resource that you specified for the SourceArn parameter doesn't exist.",
        404,
    ),
    "wrong secret": Error("", "SignatureDoesNotMatch", str(SignatureDoesNotMatch()), 403),
    "unknown key": Error("", "InvalidClientTokenId", "The security token included in the request is invalid.", 403),
    "denied": Error(
        "",
        "AccessDenied",
        f"User: arn:aws:iam::{OURS}:user/alice is not authorized to perform: sqs:sendmessage on resource: "
        f"arn:aws:sqs:us-east-1:{OURS}:{{sdk}}-shut with an explicit deny in a resource-based policy",
        403,
    ),
}


def command(sdk: str) -> list[str]:
    match sdk:
        case "go":
            return [str(go_program(HERE / "go"))]
        case "java":
            return [*JAVA_PROGRAM, java_classes(HERE / "java"), "Conversation"]
        case _:
            return ["node", str(node_folder() / "converse.mjs")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with signed_server(tmp_path_factory.mktemp("conversations"), "enforced") as server:
        yield server


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("late")
    (folder / "sitecustomize.py").write_text(CLOCK_AHEAD)
    with signed_server(folder, "signed", PYTHONPATH=f"{folder}:{ROOT}") as server:
        yield server


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("go", marks=needs("go")),
        pytest.param("java", marks=needs("javac", "mvn")),
        pytest.param("javascript", marks=needs("node", "npm")),
    ],
)
def sdk(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def told(sdk: str, server: Served, late: Served) -> dict[str, Any]:
    line = [*command(sdk), sdk, late.endpoint]
    environment = pointed_at(server.endpoint, *KEYS["alice"]) | {"AWS_MAX_ATTEMPTS": "8"}
    run = subprocess.run(line, capture_output=True, text=True, env=environment, timeout=SPOKEN_S_MAX, check=False)
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout.splitlines()[-1]))


def test_queue_is_found_with_its_attributes_and_tags(told: dict[str, Any], sdk: str, server: Served) -> None:
    assert told["queue"] == {
        "url": f"{server.endpoint}/{OURS}/{sdk}-main",
        "hide": "60",
        "tags": {"team": "shop", "empty": ""},
    }


def test_message_comes_back_as_sent_and_again_when_it_is_shown(told: dict[str, Any]) -> None:
    texts = {
        name: [value["DataType"], value.get("StringValue", ""), bytes(value.get("BinaryValue", b"")).hex()]
        for name, value in ATTRIBUTES.items()
    }
    assert told["message"] == {
        "is the same": True,
        "digests": [hashlib.md5(BODY.encode()).hexdigest(), digest(ATTRIBUTES), digest(TRACE)],
        "body": BODY,
        "attributes": texts,
        "trace": "Root=1-2-3",
        "counts": ["1", "2"],
        "left": 0,
    }


def test_batches_tell_what_failed_and_do_the_rest(told: dict[str, Any]) -> None:
    receipt = [["2", "ReceiptHandleIsInvalid", True]]
    assert told["batches"] == {
        "is all well": True,
        "sent": [2, [["2", "InvalidMessageContents", True]]],
        "changed": [2, receipt],
        "deleted": [2, receipt],
    }


def test_long_poll_is_answered_by_the_send(told: dict[str, Any]) -> None:
    assert told["poll"] == {"body": "ring", "is at once": True}


def test_message_of_a_mebibyte_passes(told: dict[str, Any]) -> None:
    assert told["large"] == {"length": 1_048_576}


def test_group_is_in_order_and_locked_and_a_duplicate_adds_nothing(told: dict[str, Any]) -> None:
    assert told["fifo"] == {
        "order": ["1", "2", "3"],
        "is locked": True,
        "is a duplicate": True,
        "is ascending": True,
        "group": "g",
    }


def test_dead_letter_says_where_it_is_from_and_goes_back_there(told: dict[str, Any], sdk: str, server: Served) -> None:
    assert told["dead letters"] == {
        "left": 0,
        "from": f"arn:aws:sqs:us-east-1:{OURS}:{sdk}-source",
        "sources": [f"{server.endpoint}/{OURS}/{sdk}-source"],
        "back": "bad",
        "task": "COMPLETED",
        "moved": 1,
    }


def test_paginator_sees_every_queue_once(told: dict[str, Any]) -> None:
    assert told["pages"] == [["0", "1"], ["2", "3"], ["4"]]


def test_clock_that_is_wrong_is_set_by_the_servers(told: dict[str, Any], sdk: str, late: Served) -> None:
    assert told["clock"] == f"{late.endpoint}/{OURS}/{sdk}-late"


@pytest.mark.parametrize("what", ERRORS)
def test_error_is_of_its_class_with_code_text_and_status(told: dict[str, Any], sdk: str, what: str) -> None:
    error = ERRORS[what]
    known_as = error.shape.removesuffix("Exception") + "Exception" if sdk == "java" and error.shape else error.shape
    code = error.shape if sdk == "javascript" and error.shape else error.code
    text = error.text.format(queue=f"{sdk}-main", sdk=sdk)
    assert told["errors"][what] == [known_as or OF_NO_SHAPE[sdk], code, text, error.status]


def test_every_error_was_told(told: dict[str, Any]) -> None:
    assert told["errors"].keys() == ERRORS.keys()
