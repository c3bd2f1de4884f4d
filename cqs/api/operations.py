"""AWS's actions: one row each; everything else is derived from the shapes. CQS's own actions: `cqs.api.extensions`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, get_type_hints

import msgspec

from cqs.api.actions import batches, messages, move_tasks, permissions, queues, tags, visibility
from cqs.api.shapes.shape import Shape

TARGET_PREFIX = "AmazonSQS."
Act = Callable[[Any, Any], Awaitable[Shape | None]]


class Operation(msgspec.Struct, frozen=True):
    """One action: how its input is decoded, and the function that performs it."""

    name: str
    input: type[Shape]
    output: type[Shape] | None
    act: Act
    decoder: msgspec.json.Decoder[Shape]
    is_on_queue: bool
    """Whether it may be called at a queue's own URL."""


def operation_of(act: Act, *, is_on_queue: bool = True) -> Operation:
    """Derives name, input and output from the function's signature."""
    hints = get_type_hints(act)
    output = hints["return"]
    return Operation(
        name="".join(word.capitalize() for word in act.__name__.split("_")),
        input=hints["request"],
        output=None if output is type(None) else output,
        act=act,
        decoder=msgspec.json.Decoder(hints["request"]),
        is_on_queue=is_on_queue,
    )


ALL: tuple[Operation, ...] = (
    operation_of(messages.send_message),
    operation_of(messages.receive_message),
    operation_of(messages.delete_message),
    operation_of(batches.send_message_batch),
    operation_of(batches.delete_message_batch),
    operation_of(batches.change_message_visibility_batch),
    operation_of(visibility.change_message_visibility),
    operation_of(queues.create_queue, is_on_queue=False),
    operation_of(queues.list_queues, is_on_queue=False),
    operation_of(queues.get_queue_url),
    operation_of(queues.get_queue_attributes),
    operation_of(queues.set_queue_attributes),
    operation_of(queues.list_dead_letter_source_queues),
    operation_of(queues.purge_queue),
    operation_of(queues.delete_queue),
    operation_of(tags.tag_queue),
    operation_of(tags.untag_queue),
    operation_of(tags.list_queue_tags),
    operation_of(permissions.add_permission),
    operation_of(permissions.remove_permission),
    operation_of(move_tasks.start_message_move_task),
    operation_of(move_tasks.cancel_message_move_task),
    operation_of(move_tasks.list_message_move_tasks),
)
BY_NAME = {operation.name: operation for operation in ALL}
BY_TARGET = {(TARGET_PREFIX + operation.name).encode(): operation for operation in ALL}
