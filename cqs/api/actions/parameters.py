"""Checks the ranges of call parameters, with SQS's error texts, and the batch rules that all three batch actions
share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from cqs import limits
from cqs.api.error_table import wire_error
from cqs.api.shapes.batches import BatchResultErrorEntry
from cqs.errors import (
    BatchEntryIdsNotDistinct,
    EmptyBatchRequest,
    InvalidBatchEntryId,
    InvalidParameterValue,
    ReceiptHandleExpired,
    ReceiptHandleIsInvalid,
    SqsError,
    TooManyEntriesInBatchRequest,
)


class Entry(Protocol):
    @property
    def id(self) -> str: ...


class Batch(Protocol):
    QUERY_NAMES: ClassVar[Mapping[str, str]]

    @property
    def entries(self) -> Sequence[Entry]: ...


def receive_count(count: int | None) -> int:
    if count is None:
        return 1
    if not 1 <= count <= limits.RECEIVE_COUNT_MAX:
        reason = f"Must be between 1 and {limits.RECEIVE_COUNT_MAX}, if provided."
        raise InvalidParameterValue.of(count, "MaxNumberOfMessages", reason)
    return count


def wait_ms(seconds: int | None) -> int | None:
    return _milliseconds("WaitTimeSeconds", seconds, limits.WAIT_S_MAX, "Must be >= 0 and <= {}, if provided.")


def visibility_ms(seconds: int) -> int:
    checked = optional_visibility_ms(seconds)
    assert checked is not None
    return checked


def optional_visibility_ms(seconds: int | None) -> int | None:
    reason = "Must be >= 0 and <= {}, if provided."
    return _milliseconds("VisibilityTimeout", seconds, limits.VISIBILITY_S_MAX, reason)


def delay_ms(seconds: int | None) -> int | None:
    return _milliseconds("DelaySeconds", seconds, limits.DELAY_S_MAX, "DelaySeconds must be >= 0 and <= {}.")


def page_limit(results: int | None) -> int | None:
    if results is not None and not 1 <= results <= limits.LIST_RESULTS_MAX:
        reason = f"Must be between 1 and {limits.LIST_RESULTS_MAX}, if provided."
        raise InvalidParameterValue.of(results, "MaxResults", reason)
    return results


def check_entries(batch: Batch) -> None:
    """Checks the rules that fail a whole batch call, in SQS's order."""
    entries = batch.entries
    if not entries:
        raise EmptyBatchRequest(batch.QUERY_NAMES["Entries"])
    if len(entries) > limits.BATCH_ENTRIES_MAX:
        raise TooManyEntriesInBatchRequest(len(entries))
    seen: set[str] = set()
    for entry in entries:
        if not limits.BATCH_ENTRY_ID.fullmatch(entry.id):
            raise InvalidBatchEntryId
    for entry in entries:
        if entry.id in seen:
            raise BatchEntryIdsNotDistinct(entry.id)
        seen.add(entry.id)


def failed_entry(entry_id: str, error: SqsError) -> BatchResultErrorEntry:
    """As on AWS, an expired receipt handle has its own code and text here."""
    if isinstance(error, ReceiptHandleExpired):
        return BatchResultErrorEntry(
            id=entry_id, sender_fault=True, code=ReceiptHandleIsInvalid.__name__, message=error.REASON
        )
    entry = wire_error(error)
    return BatchResultErrorEntry(id=entry_id, sender_fault=entry.is_sender, code=entry.query_code, message=str(error))


def _milliseconds(parameter: str, seconds: int | None, seconds_max: int, reason: str) -> int | None:
    if seconds is None:
        return None
    if not 0 <= seconds <= seconds_max:
        raise InvalidParameterValue.of(seconds, parameter, reason.format(seconds_max))
    return seconds * 1000
