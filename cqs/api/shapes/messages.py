"""SendMessage, ReceiveMessage, DeleteMessage: one message at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from cqs.api.shapes.shape import Int32, Output, Shape


class MessageAttributeValue(Output, frozen=True, kw_only=True, gc=False):
    """The value of a message attribute, in requests and responses."""

    QUERY_NAMES: ClassVar[Mapping[str, str]] = {
        "StringListValues": "StringListValue",
        "BinaryListValues": "BinaryListValue",
    }

    string_value: str | None = None
    binary_value: bytes | None = None
    string_list_values: list[str] | None = None
    binary_list_values: list[bytes] | None = None
    data_type: str


class SendMessageRequest(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {
        "MessageAttributes": "MessageAttribute",
        "MessageSystemAttributes": "MessageSystemAttribute",
    }

    queue_url: str
    message_body: str
    delay_seconds: Int32 | None = None
    message_attributes: dict[str, MessageAttributeValue] | None = None
    message_system_attributes: dict[str, MessageAttributeValue] | None = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class SendMessageResult(Output, frozen=True, kw_only=True, gc=False):
    md5_of_message_body: str = msgspec.field(name="MD5OfMessageBody")
    md5_of_message_attributes: str = msgspec.field(default="", name="MD5OfMessageAttributes")
    md5_of_message_system_attributes: str = msgspec.field(default="", name="MD5OfMessageSystemAttributes")
    message_id: str
    sequence_number: str = ""


class ReceiveMessageRequest(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {
        "AttributeNames": "AttributeName",
        "MessageSystemAttributeNames": "MessageSystemAttributeName",
        "MessageAttributeNames": "MessageAttributeName",
    }

    queue_url: str
    attribute_names: list[str] | None = None
    message_system_attribute_names: list[str] | None = None
    message_attribute_names: list[str] | None = None
    max_number_of_messages: Int32 | None = None
    visibility_timeout: Int32 | None = None
    wait_time_seconds: Int32 | None = None
    receive_request_attempt_id: str | None = None


class Message(Output, frozen=True, kw_only=True, gc=False):
    """A message as ReceiveMessage returns it."""

    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"Attributes": "Attribute", "MessageAttributes": "MessageAttribute"}

    message_id: str
    receipt_handle: str
    md5_of_body: str = msgspec.field(name="MD5OfBody")
    body: str
    attributes: dict[str, str] = {}
    md5_of_message_attributes: str = msgspec.field(default="", name="MD5OfMessageAttributes")
    message_attributes: dict[str, MessageAttributeValue] = {}


class ReceiveMessageResult(Output, frozen=True, kw_only=True, gc=False):
    """An empty receive has no Messages member at all."""

    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"Messages": "Message"}

    messages: list[Message] = []


class DeleteMessageRequest(Shape, frozen=True, kw_only=True, gc=False):
    queue_url: str
    receipt_handle: str
