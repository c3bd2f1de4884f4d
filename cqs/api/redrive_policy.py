"""RedrivePolicy and RedriveAllowPolicy: the two attributes whose values are JSON texts. "" removes either."""

from __future__ import annotations

import msgspec

from cqs import limits
from cqs.errors import InvalidParameterValue
from cqs.queue import Redrive, RedriveAllow, RedrivePermission, name_of_arn

_TARGET, _COUNT = "deadLetterTargetArn", "maxReceiveCount"
_PERMISSION, _SOURCES = "redrivePermission", "sourceQueueArns"
_ARN_LENGTH_MAX = 256
_BAD_ALLOW = "Amazon SQS can't create the redrive allow policy, as it's in an unsupported format."


def parse_redrive(name: str, text: str) -> Redrive | None:
    """None for "". Raises InvalidParameterValue. Whether the target exists and fits is checked by the service."""
    if not text:
        return None
    policy = _json_object(text)
    if policy is None:
        raise InvalidParameterValue.of(text, name, "Redrive policy is not a valid JSON map.")
    if _TARGET not in policy:
        reason = f"Redrive policy does not contain mandatory attribute: {_TARGET}."
        raise InvalidParameterValue.of(text, name, reason)
    if not policy.keys() <= {_TARGET, _COUNT}:
        reason = f"Only following attributes are supported: [{_TARGET}, {_COUNT}]."
        raise InvalidParameterValue.of(text, name, reason)
    target = policy[_TARGET]
    if not isinstance(target, str) or name_of_arn(target) is None:
        raise InvalidParameterValue.of(text, name, f"Invalid value for {_TARGET}.")
    return Redrive(target, _receive_count(name, text, policy.get(_COUNT, limits.REDRIVE_COUNT_DEFAULT)))


def write_redrive(redrive: Redrive | None) -> str:
    if redrive is None:
        return ""
    return msgspec.json.encode({_TARGET: redrive.target_arn, _COUNT: redrive.receive_count_max}).decode()


def parse_redrive_allow(name: str, text: str) -> RedriveAllow | None:
    """None for "". Raises InvalidParameterValue."""
    if not text:
        return None
    policy = _json_object(text)
    if policy is None or _PERMISSION not in policy or not policy.keys() <= {_PERMISSION, _SOURCES}:
        raise InvalidParameterValue.of(text, name, _BAD_ALLOW)
    try:
        permission = msgspec.convert(policy[_PERMISSION], RedrivePermission)
        sources = msgspec.convert(policy.get(_SOURCES, []), tuple[str, ...])
    except ValueError as error:
        raise InvalidParameterValue.of(text, name, _BAD_ALLOW) from error
    if (permission is RedrivePermission.BY_QUEUE) != bool(sources):
        reason = f"{_SOURCES} must be given with byQueue, and only with it."
        raise InvalidParameterValue.of(text, name, reason)
    if len(sources) > limits.REDRIVE_SOURCES_MAX:
        reason = f"{_SOURCES} can name at most {limits.REDRIVE_SOURCES_MAX} queues."
        raise InvalidParameterValue.of(text, name, reason)
    if not all(map(_is_queue, sources)):
        raise InvalidParameterValue.of(text, name, f"{_SOURCES} must be ARNs of queues.")
    return RedriveAllow(permission, sources)


def write_redrive_allow(allow: RedriveAllow | None) -> str:
    if allow is None:
        return ""
    policy: dict[str, object] = {_PERMISSION: allow.permission.value}
    if allow.source_arns:
        policy[_SOURCES] = allow.source_arns
    return msgspec.json.encode(policy).decode()


def _receive_count(name: str, text: str, count: object) -> int:
    """As on AWS, the number may also be a string."""
    is_text = isinstance(count, str) and count.isascii() and count.isdigit() and len(count) <= 5
    number = int(count) if is_text and isinstance(count, str) else count
    if (
        not isinstance(number, int)
        or isinstance(number, bool)
        or not limits.REDRIVE_COUNT_MIN <= number <= limits.REDRIVE_COUNT_MAX
    ):
        reason = (
            f"Invalid value for {_COUNT}: {count}, valid values are from {limits.REDRIVE_COUNT_MIN} to "
            f"{limits.REDRIVE_COUNT_MAX} both inclusive."
        )
        raise InvalidParameterValue.of(text, name, reason)
    return number


def _is_queue(arn: str) -> bool:
    queue = name_of_arn(arn) if len(arn) <= _ARN_LENGTH_MAX else None
    return queue is not None and limits.QUEUE_NAME.fullmatch(queue.name) is not None


def _json_object(text: str) -> dict[str, object] | None:
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
