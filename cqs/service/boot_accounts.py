"""Users and keys that a file declares, created before the server accepts requests.

    [[user]]
    name = "alice"
    account = "111122223333"
    role = "administrator"                      # administrator, operator or read_only
    password_hash = "$argon2id$v=19$m=65536…"   # or password = "…"; neither: no console
    keys = [{ id = "AKIA…", secret = "…" }]

Missing users and keys are created. Existing ones are left unchanged, whatever the file says: a key that somebody
disabled must not be re-enabled by a restart. When several nodes start with the same file at the same time, one of them
creates each entry and the others find it there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import msgspec

from cqs.errors import ConfigError, IdentityError
from cqs.identity import Identities, Role
from cqs.service.accounts import Accounts
from cqs.service.private_file import is_private


class DeclaredKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An access key whose id and secret are given."""

    id: str
    secret: str


class DeclaredUser(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A user and its keys."""

    name: str
    account: str = ""
    """For a new user, "" = the server's own account."""
    role: Role = Role.OPERATOR
    password: str = ""
    password_hash: str = ""
    keys: tuple[DeclaredKey, ...] = ()


class Declared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    user: tuple[DeclaredUser, ...] = ()


def read_file(path: Path) -> Declared:
    """Raises ConfigError if the file can't be read, others may read it, or its content is wrong."""
    try:
        if not is_private(path.stat()):
            raise ConfigError(
                f"users_file: {path} holds secrets and others may read or change it; run `chmod 600 {path}`"
            )
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"users_file: {path} can't be read: {error.strerror}") from error
    return read(text, f"users_file: {path}")


def read(text: bytes, origin: str) -> Declared:
    """Parses the text of such a file. Raises ConfigError."""
    try:
        return msgspec.toml.decode(text, type=Declared)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{origin}: {error}") from error


async def declare(accounts: Accounts, declared: Declared, origin: str) -> None:
    """Creates what is missing. Raises ConfigError, and what the store raises."""
    everybody = await accounts.identities()
    for place, one in enumerate(declared.user):
        try:
            if any(one.name == before.name for before in declared.user[:place]):
                raise IdentityError("it is declared twice.")
            await _make_user(accounts, one, everybody)
            for key in one.keys:
                await _make_key(accounts, one, key, everybody)
        except IdentityError as error:
            raise ConfigError(f"{origin}: user {one.name!r}: {error}") from error


async def _make_user(accounts: Accounts, one: DeclaredUser, everybody: Identities) -> None:
    made = (one.name, one.account or accounts.home, one.role, one.password, one.password_hash)
    account = await _whose(accounts, everybody, partial(_account_of, one.name), partial(accounts.add_user, *made))
    if account and one.account and account != one.account:
        raise IdentityError(f"it belongs to account {account}, not {one.account}.")


async def _make_key(accounts: Accounts, one: DeclaredUser, key: DeclaredKey, everybody: Identities) -> None:
    made = (one.name, key.id, key.secret)
    owner = await _whose(accounts, everybody, partial(_owner_of, key.id), partial(accounts.add_key, *made))
    if owner and owner != one.name:
        raise IdentityError(f"access key {key.id!r} is {owner!r}'s.")


async def _whose(
    accounts: Accounts,
    everybody: Identities,
    of: Callable[[Identities], str | None],
    make: Callable[[], Awaitable[object]],
) -> str | None:
    """The owner of an existing entry, even one created a moment ago; None: it was created now. Raises IdentityError."""
    holder = of(everybody)
    if holder is None:
        try:
            await make()
        except IdentityError:
            holder = of(await accounts.identities())
            if holder is None:
                raise
    return holder


def _account_of(name: str, everybody: Identities) -> str | None:
    return next((user.account for user in everybody.users if user.name == name), None)


def _owner_of(key_id: str, everybody: Identities) -> str | None:
    return next((key.user for key in everybody.keys if key.key_id == key_id), None)
