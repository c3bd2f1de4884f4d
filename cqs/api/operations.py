"""The actions of the API: one row each, everything else follows from the shapes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, get_type_hints

import msgspec

from cqs.api.actions import batches, messages, move_tasks, permissions, queues, tags, visibility
from cqs.api.shapes.shape import Shape

TARGET_PREFIX = "AmazonSQS."
Act = Callable[[Any, Any], Awaitable[Shape | None]]


class Operation(msgspec.Struct, frozen=True):
    """One action: how its input is decoded and who carries it out."""

    name: str
    input: type[Shape]
    output: type[Shape] | None
    act: Act
    decoder: msgspec.json.Decoder[Shape]
    is_on_queue: bool
    """Whether it may be called at a queue's own URL."""


def _operation(act: Act, *, is_on_queue: bool = True) -> Operation:
    """Name, input and output stand in the function's signature."""
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
    _operation(messages.send_message),
    _operation(messages.receive_message),
    _operation(messages.delete_message),
    _operation(batches.send_message_batch),
    _operation(batches.delete_message_batch),
    _operation(batches.change_message_visibility_batch),
    _operation(visibility.change_message_visibility),
    _operation(queues.create_queue, is_on_queue=False),
    _operation(queues.list_queues, is_on_queue=False),
    _operation(queues.get_queue_url),
    _operation(queues.get_queue_attributes),
    _operation(queues.set_queue_attributes),
    _operation(queues.list_dead_letter_source_queues),
    _operation(queues.purge_queue),
    _operation(queues.delete_queue),
    _operation(tags.tag_queue),
    _operation(tags.untag_queue),
    _operation(tags.list_queue_tags),
    _operation(permissions.add_permission),
    _operation(permissions.remove_permission),
    _operation(move_tasks.start_message_move_task),
    _operation(move_tasks.cancel_message_move_task),
    _operation(move_tasks.list_message_move_tasks),
)
BY_NAME = {operation.name: operation for operation in ALL}
BY_TARGET = {(TARGET_PREFIX + operation.name).encode(): operation for operation in ALL}
