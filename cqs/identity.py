"""Identities: accounts, which own queues, and their users with roles and access keys.

    Account 111122223333 ──┬── User alice (administrator) ──┬── AccessKey AKIA…   signs requests
                           │                                └── password          opens the console
                           └── User probe (read_only)     ──── AccessKey AKIA…

User names are unique in the whole cluster, since the console asks only for the name. A key's secret must be readable to
verify signatures, so it is stored encrypted (`cqs.service.seal`); a password is stored as an argon2id hash. Records are
immutable. `version` counts their changes and makes writes conditional, so that nobody overwrites a change unseen.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

ACCOUNT_ID = re.compile(r"[0-9]{12}")
USER_NAME = re.compile(r"[A-Za-z0-9+=,.@_-]{1,64}")
KEY_ID = re.compile(r"[A-Za-z0-9_]{1,128}")
DEFAULT_ACCOUNT = "000000000000"


class Role(StrEnum):
    """What a user may do in its own account and in the console."""

    ADMINISTRATOR = "administrator"
    """Everything, including users and keys."""
    OPERATOR = "operator"
    """Everything with queues and messages."""
    READ_ONLY = "read_only"
    """Reads only: changes neither queues nor what a consumer would receive."""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """Owns queues. `account_id` is twelve digits."""

    account_id: str
    name: str = ""
    created_ms: int
    version: int = 0


class EndedSession(msgspec.Struct, frozen=True):
    """A console session that was logged out. `until_ms` is when its cookie expires anyway."""

    sid: str
    until_ms: int


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A person or program that belongs to an account."""

    name: str
    account: str
    role: Role
    user_id: str
    """Unique and never reused: the SenderId of messages that the user sends."""
    password_hash: str = ""
    """An argon2id hash in the standard encoding; "" = can't log in."""
    is_enabled: bool = True
    created_ms: int
    version: int = 0
    sessions: int = 0
    """The session generation: console sessions started under another number are invalid."""
    ended: tuple[EndedSession, ...] = ()
    """Console sessions that were logged out."""

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:user/{self.name}"

    def __repr__(self) -> str:
        return f"User({self.name!r}, {self.account!r}, {self.role.value!r}, version={self.version})"


class AccessKey(msgspec.Struct, frozen=True, kw_only=True):
    """The key with which a user signs requests."""

    key_id: str
    user: str
    sealed: bytes
    """The secret, encrypted; see `cqs.service.seal`."""
    is_enabled: bool = True
    created_ms: int
    version: int = 0


class Identities(msgspec.Struct, frozen=True, kw_only=True):
    """All accounts, users and keys, as of one moment."""

    version: int
    """Grows with every change to any record."""
    accounts: tuple[Account, ...] = ()
    users: tuple[User, ...] = ()
    keys: tuple[AccessKey, ...] = ()


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """When, from where and how a request was made: the input of policy conditions. None = not known."""

    now_ms: int = 0
    """Whole seconds, the finest resolution of policies."""
    source_ip: str | None = None
    is_secure: bool = False
    """Over TLS."""
    user_agent: str | None = None
    referer: str | None = None
    source_arn: str | None = None


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who makes a request."""

    account: str
    user: str = ""
    user_id: str = ""
    role: Role = Role.OPERATOR
    key_id: str = ""
    circumstances: Circumstances = Circumstances()
    """Set only where policies are evaluated."""

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:user/{self.user}" if self.user else f"arn:aws:iam::{self.account}:root"

    @property
    def sender_id(self) -> str:
        """SenderId of messages: the user's id, as on AWS; without a user, the account."""
        return self.user_id or self.account


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """An access key ready for verifying signatures. Its repr shows no secret, so that it can't be logged."""

    key_id: str
    secret: bytes
    caller: Caller
    session_token: str = ""
    """If set, requests must carry it as X-Amz-Security-Token."""

    def __repr__(self) -> str:
        return f"Credential({self.key_id!r}, {self.caller.arn!r})"
