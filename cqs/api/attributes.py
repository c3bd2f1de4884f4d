"""Queue attributes: names and texts on the wire, fields of `cqs.queue.Settings` internally.

    "DelaySeconds": "5"     ── parse ──►  changes {"delay_ms": 5000}  ──► service.queues.create / change_settings
    "DelaySeconds": "5"     ◄── write ──  Settings(delay_ms=5000)

This module checks only the form and range of each value; `cqs.service.queue_rules` checks how settings fit together and
fit the queue's type and other queues. On the wire all values are strings, including numbers and booleans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeVar

from cqs import limits
from cqs.api.redrive_policy import parse_redrive, parse_redrive_allow, write_redrive, write_redrive_allow
from cqs.cache.counts import Counts
from cqs.errors import InvalidAttributeName, InvalidAttributeValue
from cqs.queue import DedupScope, Queue, Settings, ThroughputLimit
from cqs.service import policy_reader

_ALL = "All"
_DIGITS_MAX = 10
C = TypeVar("C", bound=StrEnum)


class _Setting(NamedTuple):
    """A settable attribute. `write` returns "" when GetQueueAttributes should leave it out."""

    field: str
    parse: Callable[[str, str], object]
    """Wire name and text → value; raises InvalidAttributeValue or InvalidParameterValue."""
    write: Callable[[Settings], str]


def _seconds(field: str, low: int, high: int) -> _Setting:
    return _Setting(
        field,
        lambda name, text: _integer(name, text, low, high) * 1000,
        lambda settings: str(getattr(settings, field) // 1000),
    )


def _integer(name: str, text: str, low: int, high: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX and low <= int(text) <= high):
        raise InvalidAttributeValue.of(name, f"Must be between {low} and {high}.")
    return int(text)


def _boolean(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidAttributeValue.of(name, "Must be true or false.")
    return text.lower() == "true"


def _write_boolean(is_so: bool) -> str:
    return "true" if is_so else "false"


def _choice(choices: type[C]) -> Callable[[str, str], C]:
    """One of the enumeration's values."""

    def parse(name: str, text: str) -> C:
        try:
            return choices(text)
        except ValueError as error:
            raise InvalidAttributeValue.of(name, f"Must be {' or '.join(choices)}.") from error

    return parse


def _policy(name: str, text: str) -> str:
    if text:
        policy_reader.read(text)
    return text


def _kms_key(name: str, text: str) -> str:
    if len(text) > _KMS_KEY_MAX or limits.BAD_CHARACTER.search(text):
        raise InvalidAttributeValue.of(name, f"Must have at most {_KMS_KEY_MAX} characters, all of XML 1.0.")
    return text


_KMS_KEY_MAX = 2_048


def _write_kms_reuse(settings: Settings) -> str:
    """Reported when it was set or is in effect."""
    is_told = settings.kms_key_id or settings.kms_reuse_s != Settings().kms_reuse_s
    return str(settings.kms_reuse_s) if is_told else ""


SETTINGS: Mapping[str, _Setting] = {
    "VisibilityTimeout": _seconds("visibility_ms", 0, limits.VISIBILITY_S_MAX),
    "MaximumMessageSize": _Setting(
        "message_size_max",
        lambda name, text: _integer(name, text, limits.MESSAGE_SIZE_SETTING_MIN, limits.MESSAGE_SIZE_MAX),
        lambda settings: str(settings.message_size_max),
    ),
    "MessageRetentionPeriod": _seconds("retention_ms", limits.RETENTION_S_MIN, limits.RETENTION_S_MAX),
    "DelaySeconds": _seconds("delay_ms", 0, limits.DELAY_S_MAX),
    "ReceiveMessageWaitTimeSeconds": _seconds("receive_wait_ms", 0, limits.WAIT_S_MAX),
    "Policy": _Setting("policy", _policy, lambda settings: settings.policy),
    "RedrivePolicy": _Setting("redrive", parse_redrive, lambda settings: write_redrive(settings.redrive)),
    "RedriveAllowPolicy": _Setting(
        "redrive_allow", parse_redrive_allow, lambda settings: write_redrive_allow(settings.redrive_allow)
    ),
    "KmsMasterKeyId": _Setting("kms_key_id", _kms_key, lambda settings: settings.kms_key_id),
    "KmsDataKeyReusePeriodSeconds": _Setting(
        "kms_reuse_s",
        lambda name, text: _integer(name, text, limits.KMS_REUSE_S_MIN, limits.KMS_REUSE_S_MAX),
        _write_kms_reuse,
    ),
    "SqsManagedSseEnabled": _Setting(
        "is_sse_managed", _boolean, lambda settings: _write_boolean(settings.is_sse_managed)
    ),
    "FifoQueue": _Setting("is_fifo", _boolean, lambda settings: "true" if settings.is_fifo else ""),
    "ContentBasedDeduplication": _Setting(
        "is_content_dedup",
        _boolean,
        lambda settings: _write_boolean(settings.is_content_dedup) if settings.is_fifo else "",
    ),
    "DeduplicationScope": _Setting(
        "dedup_scope", _choice(DedupScope), lambda settings: settings.dedup_scope.value if settings.is_fifo else ""
    ),
    "FifoThroughputLimit": _Setting(
        "throughput_limit",
        _choice(ThroughputLimit),
        lambda settings: settings.throughput_limit.value if settings.is_fifo else "",
    ),
}

FACTS: Mapping[str, Callable[[Queue], str]] = {
    "CreatedTimestamp": lambda queue: str(queue.created_ms // 1000),
    "LastModifiedTimestamp": lambda queue: str(queue.modified_ms // 1000),
    "QueueArn": lambda queue: queue.arn,
}
COUNTS: Mapping[str, Callable[[Counts], str]] = {
    "ApproximateNumberOfMessages": lambda counts: str(counts.ready),
    "ApproximateNumberOfMessagesNotVisible": lambda counts: str(counts.in_flight),
    "ApproximateNumberOfMessagesDelayed": lambda counts: str(counts.delayed),
}
NAMES = frozenset({_ALL, *SETTINGS, *FACTS, *COUNTS})


def changes_of(attributes: Mapping[str, str]) -> dict[str, object]:
    """The fields of Settings that the attributes set. Raises InvalidAttributeName for one that does not exist or can
    only be read, InvalidAttributeValue or InvalidParameterValue for a value out of its form or range."""
    changes: dict[str, object] = {}
    for name, text in attributes.items():
        setting = SETTINGS.get(name)
        if setting is None:
            raise InvalidAttributeName.unknown(name)
        changes[setting.field] = setting.parse(name, text)
    return changes


def names_of(asked: Iterable[str]) -> frozenset[str]:
    """The attributes asked for, with All expanded. Raises InvalidAttributeName for one that does not exist."""
    names = frozenset(asked)
    for name in names - NAMES:
        raise InvalidAttributeName.unknown(name)
    return NAMES if _ALL in names else names


def needs_counts(names: frozenset[str]) -> bool:
    return not names.isdisjoint(COUNTS)


def read(queue: Queue, names: frozenset[str], counts: Counts) -> dict[str, str]:
    """The texts of the named attributes; what is not set, or does not apply to the queue's type, is left out."""
    texts = {name: setting.write(queue.settings) for name, setting in SETTINGS.items() if name in names}
    texts.update((name, fact(queue)) for name, fact in FACTS.items() if name in names)
    texts.update((name, count(counts)) for name, count in COUNTS.items() if name in names)
    return {name: text for name, text in texts.items() if text}
