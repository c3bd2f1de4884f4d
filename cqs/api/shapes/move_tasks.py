"""Moving the messages of a dead-letter queue back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from cqs.api.shapes.shape import Int32, Output, Shape


class StartMessageMoveTaskRequest(Shape, frozen=True, kw_only=True, gc=False):
    source_arn: str
    destination_arn: str | None = None
    max_number_of_messages_per_second: Int32 | None = None


class StartMessageMoveTaskResult(Output, frozen=True, kw_only=True, gc=False):
    task_handle: str


class CancelMessageMoveTaskRequest(Shape, frozen=True, kw_only=True, gc=False):
    task_handle: str


class CancelMessageMoveTaskResult(Output, frozen=True, kw_only=True, gc=False):
    approximate_number_of_messages_moved: int


class ListMessageMoveTasksRequest(Shape, frozen=True, kw_only=True, gc=False):
    source_arn: str
    max_results: Int32 | None = None


class ListMessageMoveTasksResultEntry(Output, frozen=True, kw_only=True, gc=False):
    """TaskHandle is present only while the task runs, DestinationArn only if one was given."""

    task_handle: str | None = None
    status: str
    source_arn: str
    destination_arn: str | None = None
    max_number_of_messages_per_second: int | None = None
    approximate_number_of_messages_moved: int
    approximate_number_of_messages_to_move: int | None = None
    failure_reason: str | None = None
    started_timestamp: int


class ListMessageMoveTasksResult(Output, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"Results": "ListMessageMoveTasksResultEntry"}

    results: list[ListMessageMoveTasksResultEntry]
