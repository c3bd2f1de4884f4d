"""Rules for a message to be sent (sqs.md A3, A4, A5): pure checks of a draft against its queue, with SQS's error texts.

The common case, an ASCII body, is accepted without a regex search: `isascii` and `translate` run at memory speed.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from hashlib import sha256

import msgspec

from cqs import limits
from cqs.errors import InvalidMessageContents, InvalidParameterValue, MissingParameter
from cqs.message import Attribute
from cqs.queue import Settings

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
"""Unambiguous, so that matching takes linear time: a value has up to a million digits."""
_PLAIN = b"\t\n\r" + bytes(range(0x20, 0x7F))
_ID_RULE = "can only include alphanumeric and punctuation characters. 1 to 128 in length."
NO_DEDUP_ID = (
    "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
)


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A message to be sent. `delay_ms` None = the queue's delay."""

    body: str
    attributes: tuple[Attribute, ...] = ()
    delay_ms: int | None = None
    trace_header: str | None = None
    group: str | None = None
    dedup_id: str | None = None


def size_of(draft: Draft) -> int:
    """Bytes that count towards SQS's limits: the body, and the names, types and values of attributes."""
    body = draft.body
    size = len(body) if body.isascii() else len(body.encode(errors="surrogatepass"))
    return size + sum(attribute.size for attribute in draft.attributes) if draft.attributes else size


def check(draft: Draft, settings: Settings) -> None:
    """Raises the error that SQS gives for this draft on a queue with these settings; returns if it can be sent."""
    body = draft.body
    if not body:
        raise MissingParameter.named("MessageBody")
    _check_text(body)
    if draft.trace_header is not None:
        _check_trace_header(draft.trace_header)
    if len(draft.attributes) > limits.ATTRIBUTES_MAX:
        raise InvalidParameterValue(
            f"Number of message attributes [{len(draft.attributes)}] exceeds the allowed maximum "
            f"[{limits.ATTRIBUTES_MAX}]."
        )
    for attribute in draft.attributes:
        _check_attribute(attribute)
    if size_of(draft) > settings.message_size_max:
        raise InvalidParameterValue(
            f"One or more parameters are invalid. Reason: Message must be shorter than "
            f"{settings.message_size_max} bytes."
        )
    if draft.group is not None:
        check_id("MessageGroupId", draft.group)
    if settings.is_fifo:
        _check_fifo(draft, settings)
    elif draft.dedup_id is not None:
        raise InvalidParameterValue.of(
            draft.dedup_id,
            "MessageDeduplicationId",
            "The request include parameter that is not valid for this queue type.",
        )


def check_attempt(settings: Settings, attempt_id: str) -> None:
    """Of a receive. Raises InvalidParameterValue."""
    if attempt_id and not settings.is_fifo:
        raise InvalidParameterValue.of(
            attempt_id,
            "ReceiveRequestAttemptId",
            "The request include parameter that is not valid for this queue type.",
        )
    if attempt_id:
        check_id("ReceiveRequestAttemptId", attempt_id)


def check_id(parameter: str, value: str) -> None:
    """Checks a group, deduplication or attempt id: 1 to 128 printable ASCII characters, no space."""
    if not limits.GROUP_OR_DEDUP_ID.fullmatch(value):
        raise InvalidParameterValue.of(value, parameter, f"{parameter} {_ID_RULE}")


def dedup_id_of(draft: Draft, settings: Settings) -> str:
    """The explicit deduplication id, else the body's SHA-256 if the queue has content-based deduplication, else "".
    FIFO; call after `check`."""
    if draft.dedup_id is not None or not settings.is_content_dedup:
        return draft.dedup_id or ""
    return sha256(draft.body.encode()).hexdigest()


def _check_fifo(draft: Draft, settings: Settings) -> None:
    if draft.group is None:
        raise MissingParameter.named("MessageGroupId")
    if draft.dedup_id is not None:
        check_id("MessageDeduplicationId", draft.dedup_id)
    elif not settings.is_content_dedup:
        raise InvalidParameterValue(NO_DEDUP_ID)
    if draft.delay_ms:
        raise InvalidParameterValue.of(
            draft.delay_ms // 1000,
            "DelaySeconds",
            "The request include parameter that is not valid for this queue type.",
        )


def _check_trace_header(text: str) -> None:
    _check_text(text)
    if len(text) > limits.TRACE_HEADER_MAX:
        raise InvalidParameterValue(
            f"Message (system) attribute 'AWSTraceHeader' must have at most {limits.TRACE_HEADER_MAX} characters."
        )


def _check_text(text: str) -> None:
    if text.isascii() and not text.encode().translate(None, _PLAIN):
        return
    if limits.BAD_CHARACTER.search(text):
        raise InvalidMessageContents


def _check_attribute(attribute: Attribute) -> None:
    name = attribute.name
    if not limits.ATTRIBUTE_NAME.fullmatch(name):
        raise InvalidParameterValue(_name_fault(name))
    if len(attribute.data_type) > limits.ATTRIBUTE_TYPE_MAX or not limits.ATTRIBUTE_TYPE.fullmatch(attribute.data_type):
        raise InvalidParameterValue(
            f"The type of message (user) attribute '{name}' is invalid. You must use only the following supported "
            "type prefixes: Binary, Number, String."
        )
    if not attribute.value:
        kind = attribute.data_type.partition(".")[0]
        raise InvalidParameterValue(
            f"Message (user) attribute '{name}' must contain a non-empty value of type '{kind}'."
        )
    if attribute.is_binary:
        return
    text = attribute.value.decode(errors="surrogatepass")
    try:
        _check_text(text)
    except InvalidMessageContents as error:
        raise InvalidParameterValue(f"Message (user) attribute '{name}': {error}") from error
    if attribute.data_type.startswith("Number"):
        _check_number(name, text)


def _name_fault(name: str) -> str:
    if name.lower().startswith(("aws.", "amazon.")):
        return f"You can't use message attribute names beginning with 'AWS.' or 'Amazon.': '{name}' is reserved."
    if len(name) > limits.ATTRIBUTE_NAME_MAX:
        return f"Length of message attribute name must be less than {limits.ATTRIBUTE_NAME_MAX} bytes."
    return (
        f"Message (user) attribute name '{name}' is invalid: use A-Z, a-z, 0-9, underscore, hyphen and period, without "
        "a period at the start or the end, or two in a row."
    )


def _check_number(name: str, text: str) -> None:
    fault = InvalidParameterValue(f"Can't cast the value of message (user) attribute '{name}' to a number.")
    if not _NUMBER.fullmatch(text):
        raise fault
    try:
        number = Decimal(text)
    except InvalidOperation as error:
        raise fault from error
    digits = len(number.as_tuple().digits)
    is_in_range = number == 0 or limits.NUMBER_EXPONENT_MIN <= number.adjusted() <= limits.NUMBER_EXPONENT_MAX
    if digits > limits.NUMBER_DIGITS_MAX or not is_in_range:
        raise fault
