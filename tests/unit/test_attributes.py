"""Queue attributes on the wire, in and out."""

from __future__ import annotations

import json
import re

import pytest

from cqs.api.attributes import NAMES, SETTINGS, changes_of, names_of, needs_counts, read
from cqs.cache.counts import Counts
from cqs.errors import InvalidAttributeName, InvalidAttributeValue, InvalidParameterValue
from cqs.queue import DedupScope, Queue, Redrive, RedriveAllow, RedrivePermission, Settings, ThroughputLimit
from cqs.service.queue_rules import WIRE_NAMES

TARGET = "arn:aws:sqs:us-east-1:000000000000:dead"
POLICY = '{"Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"}}'
SETTINGS_EXAMPLES: dict[str, tuple[str, object]] = {
    "VisibilityTimeout": ("43200", 43_200_000),
    "MaximumMessageSize": ("1024", 1_024),
    "MessageRetentionPeriod": ("60", 60_000),
    "DelaySeconds": ("900", 900_000),
    "ReceiveMessageWaitTimeSeconds": ("20", 20_000),
    "Policy": (POLICY, POLICY),
    "RedrivePolicy": (json.dumps({"deadLetterTargetArn": TARGET, "maxReceiveCount": "5"}), Redrive(TARGET, 5)),
    "RedriveAllowPolicy": ('{"redrivePermission":"denyAll"}', RedriveAllow(RedrivePermission.DENY_ALL)),
    "KmsMasterKeyId": ("alias/mine", "alias/mine"),
    "KmsDataKeyReusePeriodSeconds": ("86400", 86_400),
    "SqsManagedSseEnabled": ("false", False),
    "FifoQueue": ("true", True),
    "ContentBasedDeduplication": ("true", True),
    "DeduplicationScope": ("messageGroup", DedupScope.GROUP),
    "FifoThroughputLimit": ("perMessageGroupId", ThroughputLimit.GROUP),
}


def queue_with(**settings: object) -> Queue:
    return Queue(
        account="000000000000",
        name="q",
        region="us-east-1",
        uid=1,
        created_ms=1_790_000_000_999,
        modified_ms=1_790_000_001_000,
        settings=Settings(**settings),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_setting_is_parsed_into_its_field(name: str) -> None:
    text, value = SETTINGS_EXAMPLES[name]

    assert changes_of({name: text}) == {SETTINGS[name].field: value}


def test_names_are_those_the_service_uses_in_its_errors() -> None:
    assert {setting.field: name for name, setting in SETTINGS.items()} == WIRE_NAMES


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("VisibilityTimeout", 0, 43_200),
        ("MaximumMessageSize", 1_024, 1_048_576),
        ("MessageRetentionPeriod", 60, 1_209_600),
        ("DelaySeconds", 0, 900),
        ("ReceiveMessageWaitTimeSeconds", 0, 20),
        ("KmsDataKeyReusePeriodSeconds", 60, 86_400),
    ],
)
def test_number_is_taken_within_its_range_only(name: str, low: int, high: int) -> None:
    for text in (str(low), str(high)):
        changes_of({name: text})
    told = f"Invalid value for the parameter {name}. Reason: Must be between {low} and {high}."
    for text in (str(low - 1), str(high + 1), "", " 5", "5 ", "+5", "1e1", "5.0", "\u0665", "0x5", "9" * 5_000, "-0"):
        with pytest.raises(InvalidAttributeValue, match=f"^{re.escape(told)}$"):
            changes_of({name: text})


@pytest.mark.parametrize("name", ["Nope", "visibilitytimeout", "QueueArn", "ApproximateNumberOfMessages", "All", ""])
def test_unknown_and_read_only_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidAttributeName, match=f"Unknown Attribute {name}\\."):
        changes_of({name: "1"})


@pytest.mark.parametrize("name", ["FifoQueue", "ContentBasedDeduplication", "SqsManagedSseEnabled"])
@pytest.mark.parametrize("text", ["", "yes", "1", " true"])
def test_boolean_is_true_or_false(name: str, text: str) -> None:
    with pytest.raises(InvalidAttributeValue, match="Must be true or false"):
        changes_of({name: text})


@pytest.mark.parametrize(
    ("name", "choices"),
    [("DeduplicationScope", "queue or messageGroup"), ("FifoThroughputLimit", "perQueue or perMessageGroupId")],
)
def test_choice_is_one_of_the_choices(name: str, choices: str) -> None:
    with pytest.raises(InvalidAttributeValue, match=f"Must be {choices}"):
        changes_of({name: "perqueue"})


@pytest.mark.parametrize("text", ["{", "[]", "1", '{"a":"' + "x" * 8_192 + '"}', "[" * 100_000])
def test_policy_is_a_json_object_of_bounded_size(text: str) -> None:
    with pytest.raises(InvalidAttributeValue):
        changes_of({"Policy": text})


@pytest.mark.parametrize("name", ["Policy", "RedrivePolicy", "RedriveAllowPolicy", "KmsMasterKeyId"])
def test_empty_text_removes(name: str) -> None:
    (value,) = changes_of({name: ""}).values()

    assert not value


def redrive_policy(**members: object) -> str:
    return json.dumps({"deadLetterTargetArn": TARGET, "maxReceiveCount": 3} | members)


def test_receive_count_of_redrive_policy_is_ten_when_left_out() -> None:
    changes = changes_of({"RedrivePolicy": json.dumps({"deadLetterTargetArn": TARGET})})

    assert changes == {"redrive": Redrive(TARGET, 10)}


@pytest.mark.parametrize("count", [0, 1_001, -1, "x", "", 1.5, True, None, [], "9" * 20, "\u0665", 10**30])
def test_receive_count_of_redrive_policy_is_1_to_1000(count: object) -> None:
    with pytest.raises(InvalidParameterValue, match="valid values are from 1 to 1000 both inclusive"):
        changes_of({"RedrivePolicy": redrive_policy(maxReceiveCount=count)})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nope", "not a valid JSON map"),
        ("[]", "not a valid JSON map"),
        ("[" * 100_000, "not a valid JSON map"),
        ('{"maxReceiveCount":1}', "does not contain mandatory attribute: deadLetterTargetArn"),
        (redrive_policy(deadLetterTargetArn=5), "Invalid value for deadLetterTargetArn"),
        (redrive_policy(deadLetterTargetArn="dead"), redrive_policy(deadLetterTargetArn="dead") + " for parameter"),
        (redrive_policy(extra=1), "Only following attributes are supported"),
    ],
)
def test_redrive_policy_is_checked_for_its_form(text: str, reason: str) -> None:
    with pytest.raises(InvalidParameterValue, match=reason):
        changes_of({"RedrivePolicy": text})


@pytest.mark.parametrize(
    "policy",
    [
        "x",
        "[]",
        "{}",
        '{"redrivePermission":"some"}',
        '{"redrivePermission":1}',
        '{"redrivePermission":"byQueue"}',
        '{"redrivePermission":"allowAll","sourceQueueArns":["a"]}',
        '{"redrivePermission":"byQueue","sourceQueueArns":"a"}',
        '{"redrivePermission":"byQueue","sourceQueueArns":[1]}',
        json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [TARGET] * 11}),
        json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [TARGET, "a"]}),
        json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [TARGET + "!"]}),
        json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [TARGET.replace("us-east-1", "r" * 300)]}),
        '{"redrivePermission":"allowAll","extra":1}',
    ],
)
def test_redrive_allow_policy_is_checked(policy: str) -> None:
    with pytest.raises(InvalidParameterValue):
        changes_of({"RedriveAllowPolicy": policy})


def test_all_on_a_standard_queue_is_the_unconditional_set() -> None:
    texts = read(queue_with(), names_of(["All"]), Counts(ready=1, in_flight=2, delayed=3))

    assert texts == {
        "ApproximateNumberOfMessages": "1",
        "ApproximateNumberOfMessagesDelayed": "3",
        "ApproximateNumberOfMessagesNotVisible": "2",
        "CreatedTimestamp": "1790000000",
        "DelaySeconds": "0",
        "LastModifiedTimestamp": "1790000001",
        "MaximumMessageSize": "1048576",
        "MessageRetentionPeriod": "345600",
        "QueueArn": "arn:aws:sqs:us-east-1:000000000000:q",
        "ReceiveMessageWaitTimeSeconds": "0",
        "SqsManagedSseEnabled": "true",
        "VisibilityTimeout": "30",
    }


def test_fifo_queue_adds_its_four() -> None:
    standard = read(queue_with(), names_of(["All"]), Counts())
    fifo = read(queue_with(is_fifo=True), names_of(["All"]), Counts())

    assert {name: fifo[name] for name in fifo.keys() - standard.keys()} == {
        "FifoQueue": "true",
        "ContentBasedDeduplication": "false",
        "DeduplicationScope": "queue",
        "FifoThroughputLimit": "perQueue",
    }


def test_what_was_set_is_read_back_the_same() -> None:
    given = {name: text for name, (text, _) in SETTINGS_EXAMPLES.items()}
    given["RedrivePolicy"] = f'{{"deadLetterTargetArn":"{TARGET}","maxReceiveCount":5}}'

    assert read(queue_with(**changes_of(given)), frozenset(SETTINGS), Counts()) == given


def test_redrive_allow_policy_by_queue_is_read_back_the_same() -> None:
    text = f'{{"redrivePermission":"byQueue","sourceQueueArns":["{TARGET}"]}}'

    changes = changes_of({"RedriveAllowPolicy": text})

    assert read(queue_with(**changes), frozenset({"RedriveAllowPolicy"}), Counts()) == {"RedriveAllowPolicy": text}


def test_nothing_asked_gives_nothing() -> None:
    assert read(queue_with(), names_of([]), Counts()) == {}


def test_unknown_name_asked_for_is_refused() -> None:
    with pytest.raises(InvalidAttributeName, match="Unknown Attribute Nope\\."):
        names_of(["All", "Nope"])


def test_counts_are_wanted_only_when_asked_for() -> None:
    assert needs_counts(NAMES)
    assert needs_counts(names_of(["ApproximateNumberOfMessagesDelayed"]))
    assert not needs_counts(names_of(["QueueArn", "VisibilityTimeout"]))
