"""The three batch actions. As on AWS, an empty list in the answer is omitted, although AWS's model marks both lists as
required: Java's `hasFailed()` checks whether the list exists, not whether it has elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from cqs.api.shapes.messages import MessageAttributeValue
from cqs.api.shapes.shape import Int32, Output, Shape


class BatchResultErrorEntry(Output, frozen=True, kw_only=True, gc=False):
    id: str
    sender_fault: bool
    code: str
    message: str = ""


class SendMessageBatchRequestEntry(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {
        "MessageAttributes": "MessageAttribute",
        "MessageSystemAttributes": "MessageSystemAttribute",
    }

    id: str
    message_body: str
    delay_seconds: Int32 | None = None
    message_attributes: dict[str, MessageAttributeValue] | None = None
    message_system_attributes: dict[str, MessageAttributeValue] | None = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class SendMessageBatchRequest(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"Entries": "SendMessageBatchRequestEntry"}

    queue_url: str
    entries: list[SendMessageBatchRequestEntry]


class SendMessageBatchResultEntry(Output, frozen=True, kw_only=True, gc=False):
    id: str
    message_id: str
    md5_of_message_body: str = msgspec.field(name="MD5OfMessageBody")
    md5_of_message_attributes: str = msgspec.field(default="", name="MD5OfMessageAttributes")
    md5_of_message_system_attributes: str = msgspec.field(default="", name="MD5OfMessageSystemAttributes")
    sequence_number: str = ""


class SendMessageBatchResult(Output, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {
        "Successful": "SendMessageBatchResultEntry",
        "Failed": "BatchResultErrorEntry",
    }

    successful: list[SendMessageBatchResultEntry] = []
    failed: list[BatchResultErrorEntry] = []


class DeleteMessageBatchRequestEntry(Shape, frozen=True, kw_only=True, gc=False):
    id: str
    receipt_handle: str


class DeleteMessageBatchRequest(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"Entries": "DeleteMessageBatchRequestEntry"}

    queue_url: str
    entries: list[DeleteMessageBatchRequestEntry]


class DeleteMessageBatchResultEntry(Output, frozen=True, kw_only=True, gc=False):
    id: str


class DeleteMessageBatchResult(Output, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {
        "Successful": "DeleteMessageBatchResultEntry",
        "Failed": "BatchResultErrorEntry",
    }

    successful: list[DeleteMessageBatchResultEntry] = []
    failed: list[BatchResultErrorEntry] = []


class ChangeMessageVisibilityBatchRequestEntry(Shape, frozen=True, kw_only=True, gc=False):
    id: str
    receipt_handle: str
    visibility_timeout: Int32 | None = None


class ChangeMessageVisibilityBatchRequest(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"Entries": "ChangeMessageVisibilityBatchRequestEntry"}

    queue_url: str
    entries: list[ChangeMessageVisibilityBatchRequestEntry]


class ChangeMessageVisibilityBatchResultEntry(Output, frozen=True, kw_only=True, gc=False):
    id: str


class ChangeMessageVisibilityBatchResult(Output, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {
        "Successful": "ChangeMessageVisibilityBatchResultEntry",
        "Failed": "BatchResultErrorEntry",
    }

    successful: list[ChangeMessageVisibilityBatchResultEntry] = []
    failed: list[BatchResultErrorEntry] = []
