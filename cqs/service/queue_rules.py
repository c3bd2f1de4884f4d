"""Rules for queue names, and for how settings must fit each other and the queues they refer to. The API checks the
range of each single value when it parses it."""

from __future__ import annotations

from collections.abc import Mapping

from cqs import limits
from cqs.errors import InvalidAttributeName, InvalidAttributeValue, InvalidParameterValue
from cqs.queue import DedupScope, Queue, QueueName, Redrive, RedrivePermission, Settings, ThroughputLimit, name_of_arn
from cqs.service.registry import Registry

FIFO_SUFFIX = ".fifo"
WIRE_NAMES = {
    "is_fifo": "FifoQueue",
    "delay_ms": "DelaySeconds",
    "message_size_max": "MaximumMessageSize",
    "retention_ms": "MessageRetentionPeriod",
    "receive_wait_ms": "ReceiveMessageWaitTimeSeconds",
    "visibility_ms": "VisibilityTimeout",
    "policy": "Policy",
    "redrive": "RedrivePolicy",
    "redrive_allow": "RedriveAllowPolicy",
    "kms_key_id": "KmsMasterKeyId",
    "kms_reuse_s": "KmsDataKeyReusePeriodSeconds",
    "is_sse_managed": "SqsManagedSseEnabled",
    "is_content_dedup": "ContentBasedDeduplication",
    "dedup_scope": "DeduplicationScope",
    "throughput_limit": "FifoThroughputLimit",
}
"""SQS's names of the fields of `Settings`."""

_FIFO_ONLY = {
    "is_fifo": "Unknown Attribute FifoQueue.",
    "is_content_dedup": "Unknown Attribute ContentBasedDeduplication.",
    "dedup_scope": "You can specify the DeduplicationScope only when FifoQueue is set to true.",
    "throughput_limit": "You can specify the FifoThroughputLimit only when FifoQueue is set to true.",
}


def check_name(name: str, *, is_fifo: bool) -> None:
    """Raises InvalidParameterValue: names of FIFO queues end with `.fifo`, other names do not."""
    if is_fifo and not (limits.QUEUE_NAME.fullmatch(name) and name.endswith(FIFO_SUFFIX)):
        raise InvalidParameterValue(
            "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with "
            ".fifo suffix and be 1 to 80 in length."
        )
    if not is_fifo and (not limits.QUEUE_NAME.fullmatch(name) or name.endswith(FIFO_SUFFIX)):
        raise InvalidParameterValue(
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
        )


def check_type(changes: Mapping[str, object], *, is_fifo: bool) -> None:
    """Raises InvalidAttributeName for a FIFO-only attribute on a standard queue, InvalidAttributeValue for a change of
    type."""
    if not is_fifo:
        for field, text in _FIFO_ONLY.items():
            if field in changes:
                raise InvalidAttributeName(text)
    elif changes.get("is_fifo", True) is not True:
        raise InvalidAttributeValue.of("FifoQueue", "Modifying queue type is not supported.")


def with_encryption(changes: Mapping[str, object]) -> dict[str, object]:
    """The changes plus their consequence: a queue has one kind of encryption, so setting one disables the other. Raises
    InvalidAttributeName if both are requested."""
    is_kms, is_managed = bool(changes.get("kms_key_id")), bool(changes.get("is_sse_managed"))
    if is_kms and is_managed:
        raise InvalidAttributeName(
            "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS "
            "SSE."
        )
    if is_kms:
        return {**changes, "is_sse_managed": False}
    return {**changes, "kms_key_id": ""} if is_managed else dict(changes)


def check_throughput(settings: Settings) -> None:
    """Raises InvalidAttributeValue if the throughput limit is per group but deduplication is not."""
    if settings.throughput_limit is ThroughputLimit.GROUP and settings.dedup_scope is not DedupScope.GROUP:
        raise InvalidAttributeValue.of(
            "FifoThroughputLimit",
            "To set FifoThroughputLimit to perMessageGroupId, the DeduplicationScope must be messageGroup.",
        )


def check_redrive(registry: Registry, source: QueueName, region: str, settings: Settings) -> None:
    """Raises InvalidParameterValue unless the dead-letter queue exists, is a different queue of the same account,
    region and type, and allows this queue to use it."""
    redrive = settings.redrive
    if redrive is None:
        return
    key = name_of_arn(redrive.target_arn)
    if key is None:
        raise _bad_redrive(redrive, "Invalid value for deadLetterTargetArn.")
    if key.account != source.account:
        raise _bad_redrive(redrive, "Dead-letter target owner should be same as the source.")
    if redrive.target_arn.split(":")[3] != region:
        raise _bad_redrive(redrive, "Dead-letter target must be in same region as the source.")
    if key == source:
        raise _bad_redrive(redrive, "A queue can't be its own dead-letter target.")
    target = registry.get(key)
    if target is None:
        raise _bad_redrive(redrive, "Dead letter target does not exist.")
    if target.arn != redrive.target_arn:
        raise _bad_redrive(redrive, "Invalid value for deadLetterTargetArn.")
    if target.settings.is_fifo != settings.is_fifo:
        raise _bad_redrive(redrive, "Dead-letter queue must be same type of queue as the source.")
    if not _allows(target, f"arn:aws:sqs:{region}:{source.account}:{source.name}"):
        raise _bad_redrive(redrive, "The dead-letter target's RedriveAllowPolicy does not allow this queue.")


def receives_max(registry: Registry, queue: Queue) -> int:
    """After how many receives a message goes to the dead-letter queue; 0 = never, or the dead-letter queue does not
    exist."""
    redrive = queue.settings.redrive
    return 0 if redrive is None or registry.dead_letter_queue(queue) is None else redrive.receive_count_max


def _allows(target: Queue, source_arn: str) -> bool:
    allow = target.settings.redrive_allow
    if allow is None or allow.permission is RedrivePermission.ALLOW_ALL:
        return True
    return allow.permission is RedrivePermission.BY_QUEUE and source_arn in allow.source_arns


def _bad_redrive(redrive: Redrive, reason: str) -> InvalidParameterValue:
    value = f'{{"deadLetterTargetArn":"{redrive.target_arn}","maxReceiveCount":"{redrive.receive_count_max}"}}'
    return InvalidParameterValue.of(value, "RedrivePolicy", reason)
