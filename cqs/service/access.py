"""Whether a caller may perform an action on a queue: role and policy together.

    queue belongs to  allowed if
    own account       the role includes the action, and no statement denies it
    another account   the role includes it, the action can be granted to other accounts, and the policy allows it
                      (otherwise QueueDoesNotExist, unless the policy allows the caller something)

A role is a ceiling: no policy lets a read-only user change anything. A stored policy that can't be parsed grants
nothing to other accounts and denies nothing to the owner, who must be able to repair it.
"""

from __future__ import annotations

from cqs.errors import AccessDenied, QueueDoesNotExist
from cqs.identity import Caller
from cqs.queue import Queue
from cqs.service.policy import Verdict
from cqs.service.policy_actions import OF_THE_SERVER, OWNER_ONLY, is_in_role, permission_of
from cqs.service.policy_reader import read_stored


def authorize_queue(caller: Caller, action: str, queue: Queue) -> None:
    """Returns if the caller is allowed. Raises AccessDenied or QueueDoesNotExist."""
    permission = permission_of(action)
    text = queue.settings.policy
    policy = read_stored(text) if text else None
    verdict = policy.verdict(caller, permission, queue.arn) if policy is not None else Verdict.SILENT
    is_in = is_in_role(caller.role, permission)
    if caller.account == queue.account:
        if verdict is Verdict.DENIED:
            raise _denied(caller, permission, queue.arn, "with an explicit deny in a resource-based policy")
        if not is_in:
            raise _denied(caller, permission, queue.arn, f"because the role {caller.role.value} does not allow it")
        return
    if verdict is Verdict.ALLOWED and is_in and permission not in OWNER_ONLY:
        return
    if policy is None or not policy.allows_something_to(caller):
        raise QueueDoesNotExist
    why = (
        "with an explicit deny in a resource-based policy"
        if verdict is Verdict.DENIED
        else f"because no resource-based policy allows the sqs:{permission.lower()} action"
    )
    raise _denied(caller, permission, queue.arn, why)


def authorize_server(caller: Caller, action: str, home: str) -> None:
    """For actions on the server itself, which belongs to the account `home`. Raises AccessDenied."""
    if action in OF_THE_SERVER and caller.account != home:
        why = f"because only users of the server's own account ({home}) may do this"
        raise _denied(caller, action, f"arn:aws:sqs:*:{home}:*", why)


def authorize_account(caller: Caller, action: str) -> None:
    """For actions that need no existing queue: CreateQueue, ListQueues. Raises AccessDenied."""
    if not is_in_role(caller.role, action):
        permission, resource = permission_of(action), f"arn:aws:sqs:*:{caller.account}:*"
        raise _denied(caller, permission, resource, f"because the role {caller.role.value} does not allow it")


def _denied(caller: Caller, permission: str, resource: str, why: str) -> AccessDenied:
    return AccessDenied(
        f"User: {caller.arn} is not authorized to perform: sqs:{permission.lower()} on resource: {resource} {why}"
    )
