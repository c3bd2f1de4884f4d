"""Users and keys that a file declares, made before the server accepts a call.

    [[user]]
    name = "alice"
    account = "111122223333"
    role = "administrator"                      # administrator, operator or read_only
    password_hash = "$argon2id$v=19$m=65536…"   # or password = "…"; neither: no console
    keys = [{ id = "AKIA…", secret = "…" }]

What is missing is made. What exists is left alone, whatever the file says: a key that somebody disabled must not come
back to life by a restart.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from cqs.errors import ConfigError, IdentityError
from cqs.identity import DEFAULT_ACCOUNT, Role
from cqs.service.accounts import Accounts
from cqs.service.private_file import is_private


class DeclaredKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An access key that is known beforehand."""

    id: str
    secret: str


class DeclaredUser(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A user, and its keys."""

    name: str
    account: str = DEFAULT_ACCOUNT
    role: Role = Role.OPERATOR
    password: str = ""
    password_hash: str = ""
    keys: tuple[DeclaredKey, ...] = ()


class Declared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    user: tuple[DeclaredUser, ...] = ()


def read_file(path: Path) -> Declared:
    """Raises ConfigError: the file can't be read, others may read it, or something in it is wrong."""
    try:
        if not is_private(path.stat()):
            raise ConfigError(f"{path}: others may use this file of secrets: `chmod 600 {path}`")
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    return read(text, str(path))


def read(text: bytes, origin: str) -> Declared:
    """What the text of such a file says. Raises ConfigError."""
    try:
        return msgspec.toml.decode(text, type=Declared)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{origin}: {error}") from error


async def declare(accounts: Accounts, declared: Declared, origin: str) -> None:
    """Makes what is missing. Raises ConfigError, and what the store raises."""
    everybody = await accounts.identities()
    users = {user.name: user for user in everybody.users}
    owner_of = {key.key_id: key.user for key in everybody.keys}
    for one in declared.user:
        try:
            if one.name not in users:
                await accounts.add_user(one.name, one.account, one.role, one.password, one.password_hash)
            elif users[one.name].account != one.account:
                raise IdentityError(f"it belongs to account {users[one.name].account}, not {one.account}.")
            for key in one.keys:
                if owner_of.get(key.id, one.name) != one.name:
                    raise IdentityError(f"access key {key.id!r} is {owner_of[key.id]!r}'s.")
                if key.id not in owner_of:
                    await accounts.add_key(one.name, key.id, key.secret)
        except IdentityError as error:
            raise ConfigError(f"{origin}: user {one.name!r}: {error}") from error
