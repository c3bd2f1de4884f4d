"""The actions in policies and roles. A batch needs the permission of its single form, as on AWS."""

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
"""Can't be granted to other accounts by any policy (on SQS, and actions on the server)."""
OF_THE_SERVER = frozenset({"DrainNode"})
"""Only for users of the server's own account."""
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
    """The permission that an action needs."""
    return PERMISSION_OF_BATCH.get(action, action)


def is_in_role(role: Role, permission: str) -> bool:
    """Whether the role includes it. ReceiveMessage is not read-only: it hides messages and counts receives."""
    return role is not Role.READ_ONLY or permission in _READING
