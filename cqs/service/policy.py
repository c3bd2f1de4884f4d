"""A queue's policy, and its verdict on a request. Pure.

    any Deny that applies            → denied, regardless of other statements
    else any Allow that applies      → allowed
    else                             → silent: only the owner's account may

A statement applies if it names the caller, the action and the queue, and all its conditions hold. The order of
statements does not matter. `cqs.service.policy_reader` parses policies, and says what it rejects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from cqs.identity import Caller
from cqs.service.glob import Glob
from cqs.service.policy_conditions import Condition

SPEAKING_MAX = 256
_Call = tuple[str, str, str, str]
"""Permission, resource, account and user."""


class Verdict(Enum):
    ALLOWED = "allowed"
    DENIED = "denied"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Principal:
    """Whom a statement names: everybody, an account with all its users, or one ARN."""

    account: str = ""
    arn: str = ""
    is_everybody: bool = False

    def covers(self, caller: Caller) -> bool:
        if self.is_everybody:
            return True
        return caller.account == self.account if self.account else caller.arn == self.arn


@dataclass(frozen=True, slots=True)
class Statement:
    """`actions` are lower-case patterns without the "sqs:" prefix. The is_not_… flags negate the corresponding list."""

    is_allow: bool
    principals: tuple[Principal, ...]
    actions: tuple[Glob, ...]
    resources: tuple[Glob, ...]
    conditions: tuple[Condition, ...] = ()
    is_not_principal: bool = False
    is_not_action: bool = False
    is_not_resource: bool = False
    sid: str = ""

    def names(self, caller: Caller) -> bool:
        return any([one.covers(caller) for one in self.principals]) is not self.is_not_principal

    def speaks_of(self, caller: Caller, permission: str, resource: str) -> bool:
        """Whether the statement applies, conditions aside."""
        action = permission.lower()
        return (
            self.names(caller)
            and any([pattern.matches(action) for pattern in self.actions]) is not self.is_not_action
            and any([pattern.matches(resource) for pattern in self.resources]) is not self.is_not_resource
        )

    def is_met(self, caller: Caller) -> bool:
        """Whether all conditions hold."""
        return all([condition.holds(caller) for condition in self.conditions])


@dataclass(frozen=True, slots=True)
class Policy:
    """All statements of a queue's policy."""

    statements: tuple[Statement, ...]
    _speaking: dict[_Call, tuple[Statement, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Cache of the statements that match a call, conditions aside: the same few users make the same few calls all
    day."""

    def verdict(self, caller: Caller, permission: str, resource: str) -> Verdict:
        """The verdict on the caller performing `permission` ("SendMessage") on the queue with the ARN `resource`."""
        call = permission, resource, caller.account, caller.user
        speaking = self._speaking.get(call)
        if speaking is None:
            if len(self._speaking) >= SPEAKING_MAX:
                self._speaking.clear()
            speaking = tuple([one for one in self.statements if one.speaks_of(caller, permission, resource)])
            self._speaking[call] = speaking
        applying = [one.is_allow for one in speaking if one.is_met(caller)]
        if not applying:
            return Verdict.SILENT
        return Verdict.ALLOWED if all(applying) else Verdict.DENIED

    def allows_something_to(self, caller: Caller) -> bool:
        """Whether an Allow names the caller, who may then be told that the queue exists."""
        return any(one.is_allow and one.names(caller) for one in self.statements)
