"""Dead-letter settings as form fields: the target by its name, and which queues may use this one as their dead-letter
queue."""

from __future__ import annotations

from admin.forms import BadInput, Form
from cqs import limits
from cqs.queue import QueueName, Redrive, RedriveAllow, RedrivePermission, name_of_arn

PERMISSIONS = (
    ("", "Not set: any queue"),
    (RedrivePermission.ALLOW_ALL.value, "Any queue"),
    (RedrivePermission.DENY_ALL.value, "No queue"),
    (RedrivePermission.BY_QUEUE.value, "Only these queues"),
)


def write_redrive(redrive: Redrive | None) -> dict[str, str]:
    """The fields `dead_letter` (a name) and `receive_count_max`."""
    name = name_of_arn(redrive.target_arn) if redrive is not None else None
    count = redrive.receive_count_max if redrive is not None else limits.REDRIVE_COUNT_DEFAULT
    return {"dead_letter": name.name if name is not None else "", "receive_count_max": str(count)}


def read_redrive(form: Form, owner: QueueName, region: str) -> Redrive | None:
    """None when no queue is named. Raises BadInput."""
    name = form.word("dead_letter")
    if not name:
        return None
    low, high = limits.REDRIVE_COUNT_MIN, limits.REDRIVE_COUNT_MAX
    count = form.number("receive_count_max", "Maximum receives", low, high)
    return Redrive(arn_of(name, owner, region), count)


def write_allow(allow: RedriveAllow | None) -> dict[str, str]:
    """The fields `redrive_allow` and `allowed_sources` (names, one per line)."""
    names = [name_of_arn(arn) for arn in allow.source_arns] if allow is not None else []
    return {
        "redrive_allow": allow.permission.value if allow is not None else "",
        "allowed_sources": "\n".join(name.name for name in names if name is not None),
    }


def read_allow(form: Form, owner: QueueName, region: str) -> RedriveAllow | None:
    """None when it is not set. Raises BadInput."""
    choice = form.chosen("redrive_allow", "Queues that may use it", tuple(key for key, _ in PERMISSIONS))
    if not choice:
        return None
    permission = RedrivePermission(choice)
    if permission is not RedrivePermission.BY_QUEUE:
        return RedriveAllow(permission)
    names = form.text("allowed_sources").split()
    if not 1 <= len(names) <= limits.REDRIVE_SOURCES_MAX:
        raise BadInput(f"Queues that may use it: name 1 to {limits.REDRIVE_SOURCES_MAX}, one per line.")
    return RedriveAllow(permission, tuple(arn_of(name, owner, region) for name in names))


def arn_of(name: str, owner: QueueName, region: str) -> str:
    """The ARN of a queue in the owner's account; an ARN is returned unchanged. Raises BadInput."""
    if name.startswith("arn:"):
        return name
    if not limits.QUEUE_NAME.fullmatch(name):
        raise BadInput(f"{name[:100]!r} is not a valid queue name.")
    return f"arn:aws:sqs:{region}:{owner.account}:{name}"
