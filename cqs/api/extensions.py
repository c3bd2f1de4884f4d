"""Actions that AWS does not have, in addition to AWS's own: what a non-strict server answers over the JSON protocol.

No SDK can call them by accident. ListQueues is listed because it has one additional member; without that member it
behaves exactly as on AWS.
"""

from __future__ import annotations

from collections.abc import Mapping

from cqs.api.actions import extensions
from cqs.api.operations import BY_TARGET, TARGET_PREFIX, Operation, operation_of

EXTENSIONS: tuple[Operation, ...] = (
    operation_of(extensions.peek_messages),
    operation_of(extensions.get_message),
    operation_of(extensions.resend_message),
    operation_of(extensions.change_messages),
    operation_of(extensions.health_check, is_on_queue=False),
    operation_of(extensions.get_node_statistics, is_on_queue=False),
    operation_of(extensions.drain_node, is_on_queue=False),
    operation_of(extensions.list_queues, is_on_queue=False),
)
EXTENDED: Mapping[bytes, Operation] = {
    **BY_TARGET,
    **{(TARGET_PREFIX + operation.name).encode(): operation for operation in EXTENSIONS},
}
