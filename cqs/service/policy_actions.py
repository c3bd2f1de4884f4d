"""The actions that policies and roles speak of. A batch needs the permission of its single form, as on AWS."""

from __future__ import annotations

from cqs.identity import Role

PERMISSION_OF_BATCH = {
    "SendMessageBatch": "SendMessage",
    "DeleteMessageBatch": "DeleteMessage",
    "ChangeMessageVisibilityBatch": "ChangeMessageVisibility",
}
OWNER_ONLY = frozenset(
    {
        "AddPermission",
        "CancelMessageMoveTask",
        "ChangeMessages",
        "CreateQueue",
        "DeleteQueue",
        "DrainNode",
        "GetNodeStatistics",
        "HealthCheck",
        "ListMessageMoveTasks",
        "ListQueueTags",
        "ListQueues",
        "RemovePermission",
        "SetQueueAttributes",
        "StartMessageMoveTask",
        "TagQueue",
        "UntagQueue",
    }
)
"""Not given to other accounts by any policy (SQS, and those that are about the server)."""
OF_THE_SERVER = frozenset({"DrainNode"})
"""Of users of the server's own account only."""
GRANTABLE = frozenset(
    {
        "ChangeMessageVisibility",
        "DeleteMessage",
        "GetMessage",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListDeadLetterSourceQueues",
        "PeekMessages",
        "PurgeQueue",
        "ReceiveMessage",
        "ResendMessage",
        "SendMessage",
    }
)
ALL = OWNER_ONLY | GRANTABLE
_READING = frozenset(
    {
        "GetMessage",
        "GetNodeStatistics",
        "GetQueueAttributes",
        "GetQueueUrl",
        "HealthCheck",
        "ListDeadLetterSourceQueues",
        "ListMessageMoveTasks",
        "ListQueueTags",
        "ListQueues",
        "PeekMessages",
    }
)


def permission_of(action: str) -> str:
    """The permission an action needs."""
    return PERMISSION_OF_BATCH.get(action, action)


def is_in_role(role: Role, permission: str) -> bool:
    """Whether the role may at all. ReceiveMessage is not for reading only: it hides messages and counts."""
    return role is not Role.READ_ONLY or permission in _READING
