"""AddPermission and RemovePermission: they edit statements of the queue's policy, in SQS's format.

    {"Version": "2008-10-17", "Id": "<queue ARN>/SQSDefaultPolicy", "Statement": [
      {"Sid": <label>, "Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::<account>:root"},
       "Action": "SQS:<name>", "Resource": "<queue ARN>"}]}

Several accounts or actions are written as a list instead of a string. A policy set by SetQueueAttributes is kept and
extended. Whether the policy allows a call is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from cqs import limits
from cqs.errors import InvalidAttributeValue, InvalidParameterValue, MissingParameter, OverLimit
from cqs.queue import Queue
from cqs.service.engine import Engine
from cqs.service.policy_actions import OWNER_ONLY
from cqs.service.queue_edit import edit

POLICY_VERSION = "2008-10-17"
GRANTABLE = frozenset(
    {
        "*",
        "ChangeMessageVisibility",
        "DeleteMessage",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListDeadLetterSourceQueues",
        "PurgeQueue",
        "ReceiveMessage",
        "SendMessage",
    }
)
_ACCOUNT = re.compile(r"[0-9]{12}")


async def add(engine: Engine, queue: Queue, label: str, accounts: Sequence[str], actions: Sequence[str]) -> None:
    """Allows the accounts these actions, under the label. Raises InvalidParameterValue (label in use or malformed,
    unknown action or account), MissingParameter, OverLimit (more than 7 actions, or a policy beyond SQS's limits),
    QueueDoesNotExist, StoreUnavailable, OutcomeUnknown."""
    _check_label(label)
    _check_actions(actions)
    _check_accounts(accounts)
    statement = {
        "Sid": label,
        "Effect": "Allow",
        "Principal": {"AWS": _one_or_list([f"arn:aws:iam::{account}:root" for account in accounts])},
        "Action": _one_or_list([f"SQS:{action}" for action in actions]),
        "Resource": queue.arn,
    }

    def change(current: Queue) -> Queue:
        policy = _policy_of(current)
        statements = _statements_of(policy)
        if any(_label_of(one) == label for one in statements):
            raise InvalidParameterValue.of(label, "Label", "Already exists.")
        return _with_statements(current, policy, [*statements, statement])

    await edit(engine, queue, change)


async def remove(engine: Engine, queue: Queue, label: str) -> None:
    """Removes the statement with this label, and the policy along with its last statement. Raises InvalidParameterValue
    if there is none, MissingParameter, QueueDoesNotExist, StoreUnavailable, OutcomeUnknown."""
    _check_label(label)

    def change(current: Queue) -> Queue:
        policy = _policy_of(current)
        statements = _statements_of(policy)
        kept = [one for one in statements if _label_of(one) != label]
        if len(kept) == len(statements):
            raise InvalidParameterValue.of(label, "Label", "can't find label.")
        return _with_statements(current, policy, kept)

    await edit(engine, queue, change)


def _check_label(label: str) -> None:
    if not label:
        raise MissingParameter.named("Label")
    if not limits.PERMISSION_LABEL.fullmatch(label):
        raise InvalidParameterValue.of(
            label, "Label", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length."
        )


def _check_actions(actions: Sequence[str]) -> None:
    if not actions:
        raise MissingParameter.named("Actions")
    if len(actions) > limits.PERMISSION_ACTIONS_MAX:
        raise OverLimit(f"{len(actions)} Actions were found, maximum allowed is {limits.PERMISSION_ACTIONS_MAX}.")
    for action in actions:
        if action in OWNER_ONLY:
            reason = "Only the queue owner is allowed to invoke this action."
            raise InvalidParameterValue.of(f"SQS:{action}", "ActionName", reason)
        if action not in GRANTABLE:
            reason = "Please refer to the appropriate WSDL for a list of valid actions. "
            raise InvalidParameterValue.of(f"SQS:{action}", "ActionName", reason)


def _check_accounts(accounts: Sequence[str]) -> None:
    if not accounts or not all(_ACCOUNT.fullmatch(account) for account in accounts):
        raise InvalidParameterValue.of(f"[{', '.join(accounts)}]", "PrincipalId", "Unable to verify.")


def _one_or_list(values: Sequence[str]) -> str | list[str]:
    distinct = list(dict.fromkeys(values))
    return distinct[0] if len(distinct) == 1 else distinct


def _policy_of(queue: Queue) -> dict[str, object]:
    """The queue's policy, or a new one without statements. Raises InvalidAttributeValue if it is not an object."""
    if not queue.settings.policy:
        return {"Version": POLICY_VERSION, "Id": f"{queue.arn}/SQSDefaultPolicy", "Statement": []}
    try:
        return msgspec.json.decode(queue.settings.policy, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidAttributeValue.of("Policy", "It is not a JSON object.") from error


def _statements_of(policy: dict[str, object]) -> list[object]:
    statements = policy.get("Statement", [])
    return list(statements) if isinstance(statements, list) else [statements]


def _label_of(statement: object) -> object:
    return statement.get("Sid") if isinstance(statement, dict) else None


def _with_statements(queue: Queue, policy: dict[str, object], statements: list[object]) -> Queue:
    text = msgspec.json.encode({**policy, "Statement": statements}).decode() if statements else ""
    if len(statements) > limits.POLICY_STATEMENTS_MAX:
        raise OverLimit(f"{len(statements)} statements were found, maximum allowed is {limits.POLICY_STATEMENTS_MAX}.")
    if len(text.encode()) > limits.POLICY_SIZE_MAX:
        raise OverLimit(f"The policy would be longer than {limits.POLICY_SIZE_MAX} bytes.")
    return msgspec.structs.replace(queue, settings=msgspec.structs.replace(queue.settings, policy=text))
