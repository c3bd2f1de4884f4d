"""Queues: creating, finding, listing, configuring, purging and deleting them.

Inconsistent casing in AWS's API: CreateQueue takes `tags`, ListDeadLetterSourceQueues returns `queueUrls`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from cqs.api.shapes.shape import Int32, Output, Shape


class CreateQueueRequest(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"Attributes": "Attribute", "tags": "Tag"}

    queue_name: str
    attributes: dict[str, str] | None = None
    tags: dict[str, str] | None = msgspec.field(default=None, name="tags")


class CreateQueueResult(Output, frozen=True, kw_only=True, gc=False):
    queue_url: str


class GetQueueUrlRequest(Shape, frozen=True, kw_only=True, gc=False):
    queue_name: str
    queue_owner_aws_account_id: str | None = msgspec.field(default=None, name="QueueOwnerAWSAccountId")


class GetQueueUrlResult(Output, frozen=True, kw_only=True, gc=False):
    queue_url: str


class ListQueuesRequest(Shape, frozen=True, kw_only=True, gc=False):
    queue_name_prefix: str | None = None
    next_token: str | None = None
    max_results: Int32 | None = None


class ListQueuesResult(Output, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"QueueUrls": "QueueUrl"}

    queue_urls: list[str] = []
    next_token: str = ""


class ListDeadLetterSourceQueuesRequest(Shape, frozen=True, kw_only=True, gc=False):
    queue_url: str
    next_token: str | None = None
    max_results: Int32 | None = None


class ListDeadLetterSourceQueuesResult(Output, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"queueUrls": "QueueUrl"}

    queue_urls: list[str] = msgspec.field(name="queueUrls")
    next_token: str = ""


class GetQueueAttributesRequest(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"AttributeNames": "AttributeName"}

    queue_url: str
    attribute_names: list[str] | None = None


class GetQueueAttributesResult(Output, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"Attributes": "Attribute"}

    attributes: dict[str, str] = {}


class SetQueueAttributesRequest(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"Attributes": "Attribute"}

    queue_url: str
    attributes: dict[str, str]


class PurgeQueueRequest(Shape, frozen=True, kw_only=True, gc=False):
    queue_url: str


class DeleteQueueRequest(Shape, frozen=True, kw_only=True, gc=False):
    queue_url: str
