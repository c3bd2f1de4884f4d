"""Who there is: accounts that own queues, users of an account, their roles and access keys.

    Account 111122223333 ──┬── User alice (administrator) ──┬── AccessKey AKIA…   signs requests
                           │                                └── password          opens the console
                           └── User probe (read_only)     ──── AccessKey AKIA…

A user's name is unique in the whole cluster, since the console asks for nothing else. A key's secret must be readable
to check signatures, so it is kept sealed (`cqs.service.seal`); a password is kept as an argon2id hash. Records are
immutable; `version` counts their changes and makes writes conditional, so that nobody undoes a change not seen.
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
    """What a user may do within the own account, and in the console."""

    ADMINISTRATOR = "administrator"
    """Everything, users and keys included."""
    OPERATOR = "operator"
    """Everything with queues and messages."""
    READ_ONLY = "read_only"
    """Looks, and changes nothing: neither a queue nor what a consumer would receive."""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """Owns queues. `account_id` is twelve digits."""

    account_id: str
    name: str = ""
    created_ms: int
    version: int = 0


class EndedSession(msgspec.Struct, frozen=True):
    """A console session that was logged out. `until_ms` is when its cookie would end by itself."""

    sid: str
    until_ms: int


class User(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody, or some program, of an account."""

    name: str
    account: str
    role: Role
    user_id: str
    """Unique, never used again: the SenderId of what the user sends."""
    password_hash: str = ""
    """argon2id in its own notation; "" = can't log in."""
    is_enabled: bool = True
    created_ms: int
    version: int = 0
    sessions: int = 0
    """Console sessions that began under another number are over."""
    ended: tuple[EndedSession, ...] = ()
    """Console sessions that were logged out."""

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:user/{self.name}"

    def __repr__(self) -> str:
        return f"User({self.name!r}, {self.account!r}, {self.role.value!r}, version={self.version})"


class AccessKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a user signs requests with."""

    key_id: str
    user: str
    sealed: bytes
    """The secret, encrypted; see `cqs.service.seal`."""
    is_enabled: bool = True
    created_ms: int
    version: int = 0


class Identities(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody, as the store knew them at one moment."""

    version: int
    """Grows with every change of any record."""
    accounts: tuple[Account, ...] = ()
    users: tuple[User, ...] = ()
    keys: tuple[AccessKey, ...] = ()


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """When, from where and how a request came: what the conditions of a policy may ask for. None = not told."""

    now_ms: int = 0
    """Whole seconds: policies know none smaller."""
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
    """Filled in where policies are evaluated."""

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:user/{self.user}" if self.user else f"arn:aws:iam::{self.account}:root"

    @property
    def sender_id(self) -> str:
        """SenderId of messages: the user's id, as on AWS; without a user, the account."""
        return self.user_id or self.account


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """An access key ready to check signatures with. Never logged: its text shows no secret."""

    key_id: str
    secret: bytes
    caller: Caller
    session_token: str = ""
    """When set, requests must carry it as X-Amz-Security-Token."""

    def __repr__(self) -> str:
        return f"Credential({self.key_id!r}, {self.caller.arn!r})"
