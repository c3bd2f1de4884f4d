"""Parses a queue's policy, and rejects with a reason everything that could mean something other than it seems to:
unknown versions, members, operators, keys and actions, duplicate members, variables, principals that no caller can be,
and Allow with NotPrincipal. Enforces SQS's limits: 8,192 bytes, 20 statements, 50 principals, 10 conditions in all, 7
actions per statement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache

from cqs import limits
from cqs.errors import InvalidAttributeValue
from cqs.plural import counted
from cqs.service import policy_actions
from cqs.service.glob import Glob
from cqs.service.policy import Policy, Principal, Statement
from cqs.service.policy_conditions import Condition, condition

VERSIONS = ("2012-10-17", "2008-10-17")
PRINCIPALS_MAX = 50
CONDITIONS_MAX = 10
PATTERN_LENGTH_MAX = 1_024

_POLICY_MEMBERS = {"Version", "Id", "Statement"}
_PAIRS = (("Principal", "NotPrincipal"), ("Action", "NotAction"), ("Resource", "NotResource"))
_STATEMENT_MEMBERS = {"Sid", "Effect", "Condition", *(name for pair in _PAIRS for name in pair)}
_ACCOUNT = re.compile(r"[0-9]{12}")
_ARN = re.compile(r"arn:aws[a-z-]*:(iam|sts)::([0-9]{12}):(root|(user|role|assumed-role|federated-user)/[!-~]+)")
_SERVICE = re.compile(r"[a-z0-9.-]+\.amazonaws\.com(\.cn)?")
_RESOURCE = re.compile(r"\*|arn:[!-~]+")

Json = dict[str, object]


def read(text: str) -> Policy:
    """Parses the policy. Raises InvalidAttributeValue, with the reason."""
    try:
        return _policy(text)
    except ValueError as error:
        raise InvalidAttributeValue.of("Policy", f"{error}.") from error


@lru_cache(maxsize=1_024)
def read_stored(text: str) -> Policy | None:
    """The policy of an existing queue, cached; None if it can't be parsed any more."""
    try:
        return _policy(text)
    except ValueError:
        return None


def _policy(text: str) -> Policy:
    if len(text.encode("utf-8", "surrogatepass")) > limits.POLICY_SIZE_MAX:
        raise ValueError(f"it is longer than {limits.POLICY_SIZE_MAX} bytes")
    try:
        value: object = json.loads(text, object_pairs_hook=_without_repeats)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    policy = _object(value, "the policy", _POLICY_MEMBERS)
    version = policy.get("Version", VERSIONS[-1])
    if version not in VERSIONS:
        raise ValueError(f"unknown Version {version!r}; known are {', '.join(VERSIONS)}")
    if not isinstance(policy.get("Id", ""), str):
        raise ValueError("Id is not a string")
    listed = policy.get("Statement")
    raw = listed if isinstance(listed, list) else [listed]
    if not raw or listed is None:
        raise ValueError("there is no Statement")
    if len(raw) > limits.POLICY_STATEMENTS_MAX:
        raise ValueError(f"it has {counted(len(raw), 'statement')}; {limits.POLICY_STATEMENTS_MAX} are allowed")
    statements = [_statement(one, is_with_variables=version == VERSIONS[0]) for one in raw]
    _check_whole(statements)
    return Policy(tuple(statements))


def _check_whole(statements: list[Statement]) -> None:
    sids = [one.sid for one in statements if one.sid]
    if len(sids) != len(set(sids)):
        raise ValueError("two statements have the same Sid")
    principals = sum(len(one.principals) for one in statements)
    if principals > PRINCIPALS_MAX:
        raise ValueError(f"it names {principals} principals; {PRINCIPALS_MAX} are allowed")
    conditions = sum(len(one.conditions) for one in statements)
    if conditions > CONDITIONS_MAX:
        raise ValueError(f"it has {conditions} conditions; {CONDITIONS_MAX} are allowed")


def _statement(value: object, *, is_with_variables: bool) -> Statement:
    raw = _object(value, "a statement", _STATEMENT_MEMBERS)
    sid, effect = raw.get("Sid", ""), raw.get("Effect")
    if not isinstance(sid, str):
        raise ValueError("Sid is not a string")
    if effect not in ("Allow", "Deny"):
        raise ValueError(f"Effect must be Allow or Deny, not {effect!r}")
    for name, other in _PAIRS:
        if (name in raw) is (other in raw):
            raise ValueError(f"a statement must have exactly one of {name} and {other}")
    if effect == "Allow" and "NotPrincipal" in raw:
        raise ValueError("Allow with NotPrincipal would allow everybody not named; use Principal")
    return Statement(
        is_allow=effect == "Allow",
        principals=tuple(_principals(raw.get("Principal", raw.get("NotPrincipal")))),
        actions=tuple(_actions(raw.get("Action", raw.get("NotAction")))),
        resources=tuple(_resources(raw.get("Resource", raw.get("NotResource")), is_with_variables)),
        conditions=tuple(_conditions(raw.get("Condition", {}), is_with_variables)),
        is_not_principal="NotPrincipal" in raw,
        is_not_action="NotAction" in raw,
        is_not_resource="NotResource" in raw,
        sid=sid,
    )


def _principals(value: object) -> Iterable[Principal]:
    if value == "*":
        return [Principal(is_everybody=True)]
    named = _object(value, "Principal", {"AWS", "Service"})
    if not named:
        raise ValueError("Principal names nobody")
    found = [
        _principal(text) for text in _texts(named.get("AWS", []), "Principal AWS", is_empty_fine="AWS" not in named)
    ]
    services = _texts(named.get("Service", []), "Principal Service", is_empty_fine="Service" not in named)
    for service in services:
        if not _SERVICE.fullmatch(service):
            raise ValueError(f"unknown service principal {service!r}")
    return [*found, *(Principal(arn=service) for service in services)]


def _principal(text: str) -> Principal:
    if text == "*":
        return Principal(is_everybody=True)
    if _ACCOUNT.fullmatch(text):
        return Principal(account=text)
    arn = _ARN.fullmatch(text)
    if arn is None or "*" in text or "?" in text:
        raise ValueError(
            f"principal {text!r} is neither *, an account id, nor the ARN of an account's root, user or role"
        )
    return Principal(account=arn[2]) if arn[3] == "root" else Principal(arn=text)


def _actions(value: object) -> Iterable[Glob]:
    texts = _texts(value, "Action")
    if len(texts) > limits.PERMISSION_ACTIONS_MAX:
        raise ValueError(
            f"a statement has {counted(len(texts), 'action')}; {limits.PERMISSION_ACTIONS_MAX} are allowed"
        )
    for text in texts:
        service, _, name = text.lower().rpartition(":")
        if text != "*" and service != "sqs":
            raise ValueError(f"action {text!r} is not of the form sqs:<name>")
        pattern = Glob(name)
        if not any(pattern.matches(known.lower()) for known in policy_actions.ALL):
            batches = {batch.lower(): single for batch, single in policy_actions.PERMISSION_OF_BATCH.items()}
            hint = f"; sqs:{batches[name]} covers the batch" if name in batches else ""
            raise ValueError(f"action {text!r} is not an SQS action{hint}")
        yield pattern


def _resources(value: object, is_with_variables: bool) -> Iterable[Glob]:
    for text in _texts(value, "Resource"):
        if not _RESOURCE.fullmatch(text):
            raise ValueError(f"resource {text!r} is neither * nor an ARN")
        _refuse_variables(text, is_with_variables)
        yield Glob(text)


def _conditions(value: object, is_with_variables: bool) -> Iterable[Condition]:
    for operator, pairs in _object(value, "Condition", None).items():
        for key, raw in _object(pairs, operator, None).items():
            values = _texts(raw, f"{operator} on {key}")
            for one in values:
                _refuse_variables(one, is_with_variables)
            yield condition(operator, key, values)


def _refuse_variables(text: str, is_with_variables: bool) -> None:
    if is_with_variables and "${" in text:
        raise ValueError(f"{text!r} has a policy variable; these are not supported")


def _object(value: object, what: str, members: set[str] | None) -> Json:
    """The value, if it is an object with no members other than these."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not an object")
    unknown = [] if members is None else sorted(value.keys() - members)
    if unknown:
        raise ValueError(f"unknown member {unknown[0]!r} in {what}")
    return value


def _texts(value: object, what: str, *, is_empty_fine: bool = False) -> list[str]:
    """A string or a list of strings; in conditions, numbers and booleans are converted."""
    found = []
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, bool):
            found.append(str(one).lower())
        elif isinstance(one, str | int | float):
            found.append(str(one))
        else:
            raise ValueError(f"{what} must be a string or a list of strings")
    if not found and not is_empty_fine:
        raise ValueError(f"{what} is empty")
    if any(len(one) > PATTERN_LENGTH_MAX for one in found):
        raise ValueError(f"{what} has a string longer than {PATTERN_LENGTH_MAX} characters")
    return found


def _without_repeats(pairs: list[tuple[str, object]]) -> Json:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is given twice")
    return members
