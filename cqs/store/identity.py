"""Storage of accounts, users and access keys: the contract, and the backend in memory.

Records are few, change rarely and are read as a whole: nodes keep a copy and poll `identities_version` each second.
Writes are conditional: version 0 only if the record does not exist, any other only over the version before it (of the
same user, in case the name was reused). So nobody accidentally undoes a change they have not seen. As everywhere in the
store, calls raise `StoreUnavailable` or `OutcomeUnknown`; the effects of calls that returned survive `kill -9`.
"""

from __future__ import annotations

from typing import Protocol

from cqs.identity import AccessKey, Account, Identities, User


class IdentityStore(Protocol):
    """Accounts, users and keys, durable."""

    async def identities_version(self) -> int:
        """Grows with each change to any record; 0 before the first."""

    async def identities(self) -> Identities:
        """All records at one moment, and the version of that moment."""

    async def save_account(self, account: Account) -> bool:
        """False when the condition does not hold; nothing is changed then."""

    async def save_user(self, user: User) -> bool:
        """False when the condition does not hold or the account does not exist."""

    async def save_key(self, key: AccessKey) -> bool:
        """False when the condition does not hold or the user does not exist."""

    async def drop_user(self, name: str) -> bool:
        """Removes the user and all their keys in one step; False when there is no such user."""

    async def drop_key(self, key_id: str) -> bool:
        """False when there is no such key."""


def may_replace(new: Account | User | AccessKey, old: Account | User | AccessKey | None) -> bool:
    """The condition of every save."""
    if old is None or new.version == 0:
        return old is None and new.version == 0
    if isinstance(new, User) and isinstance(old, User) and new.user_id != old.user_id:
        return False
    return new.version == old.version + 1


class MemoryIdentities:
    """An `IdentityStore` for `--in-memory` and tests."""

    def __init__(self) -> None:
        self._version = 0
        self._accounts: dict[str, Account] = {}
        self._users: dict[str, User] = {}
        self._keys: dict[str, AccessKey] = {}

    async def identities_version(self) -> int:
        return self._version

    async def identities(self) -> Identities:
        return Identities(
            version=self._version,
            accounts=tuple(sorted(self._accounts.values(), key=lambda account: account.account_id)),
            users=tuple(sorted(self._users.values(), key=lambda user: user.name)),
            keys=tuple(sorted(self._keys.values(), key=lambda key: key.key_id)),
        )

    async def save_account(self, account: Account) -> bool:
        if not may_replace(account, self._accounts.get(account.account_id)):
            return False
        self._accounts[account.account_id] = account
        self._version += 1
        return True

    async def save_user(self, user: User) -> bool:
        if user.account not in self._accounts or not may_replace(user, self._users.get(user.name)):
            return False
        self._users[user.name] = user
        self._version += 1
        return True

    async def save_key(self, key: AccessKey) -> bool:
        if key.user not in self._users or not may_replace(key, self._keys.get(key.key_id)):
            return False
        self._keys[key.key_id] = key
        self._version += 1
        return True

    async def drop_user(self, name: str) -> bool:
        if self._users.pop(name, None) is None:
            return False
        self._keys = {key_id: key for key_id, key in self._keys.items() if key.user != name}
        self._version += 1
        return True

    async def drop_key(self, key_id: str) -> bool:
        if self._keys.pop(key_id, None) is None:
            return False
        self._version += 1
        return True
