"""Tags of queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from cqs.api.shapes.shape import Output, Shape


class TagQueueRequest(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"Tags": "Tag"}

    queue_url: str
    tags: dict[str, str]


class UntagQueueRequest(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"TagKeys": "TagKey"}

    queue_url: str
    tag_keys: list[str]


class ListQueueTagsRequest(Shape, frozen=True, kw_only=True, gc=False):
    queue_url: str


class ListQueueTagsResult(Output, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"Tags": "Tag"}

    tags: dict[str, str] = {}
