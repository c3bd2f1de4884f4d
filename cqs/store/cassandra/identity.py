"""Accounts, users and access keys: one partition, guarded by one version that grows with every change.

read what the change depends on ──► IF version is still the one read: version + 1, and the change ──► done
     ▲                                                    │
     └──────────────────── another change was first ◄─────┘
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.identity import AccessKey, Account, Identities, User
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.session import Row, Session, Write, whole
from cqs.store.definitions import Definitions
from cqs.store.identity import may_replace

REALM = "cluster"
ATTEMPTS_MAX = 20
Record = Account | User | AccessKey
Plan = Callable[[], Awaitable[Sequence[Write] | None]]
_encode = msgspec.json.Encoder().encode


class CassandraIdentities:
    """An `IdentityStore` over the session of an open store. Belongs to one event loop."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._accounts = Definitions(Account)
        self._users = Definitions(User)
        self._keys = Definitions(AccessKey)

    async def identities_version(self) -> int:
        rows = await self._session.read(cql.IDENTITIES_VERSION, (REALM,))
        return (rows[0][0] or 0) if rows else 0

    async def identities(self) -> Identities:
        for _ in range(ATTEMPTS_MAX):
            rows = await self._session.all(cql.ALL_IDENTITIES, (REALM,))
            versions = {version or 0 for *_, version in rows} or {0}
            if len(versions) == 1:
                return Identities(
                    version=versions.pop(),
                    accounts=tuple(self._accounts.all(_named(rows, "account"))),
                    users=tuple(self._users.all(_named(rows, "user"))),
                    keys=tuple(self._keys.all(_named(rows, "key"))),
                )
        raise StoreUnavailable("Accounts change too fast to be read.")

    async def save_account(self, account: Account) -> bool:
        return await self._save("account", account.account_id, "", account)

    async def save_user(self, user: User) -> bool:
        return await self._save("user", user.name, user.account, user)

    async def save_key(self, key: AccessKey) -> bool:
        return await self._save("key", key.key_id, key.user, key)

    async def drop_user(self, name: str) -> bool:
        async def plan() -> Sequence[Write] | None:
            if await self._find("user", name) is None:
                return None
            keys = await self._session.all(cql.OWNED_IDENTITIES, (REALM, "key"))
            owned = [Write(cql.DROP_IDENTITY, (REALM, "key", key_id)) for key_id, owner in keys if owner == name]
            return [Write(cql.DROP_IDENTITY, (REALM, "user", name)), *owned]

        return await self._change(plan, lambda: self._is("user", name, None))

    async def drop_key(self, key_id: str) -> bool:
        async def plan() -> Sequence[Write] | None:
            known = await self._find("key", key_id)
            return None if known is None else [Write(cql.DROP_IDENTITY, (REALM, "key", key_id))]

        return await self._change(plan, lambda: self._is("key", key_id, None))

    async def _save(self, kind: str, name: str, owner: str, record: Record) -> bool:
        async def plan() -> Sequence[Write] | None:
            owner_kind = {"user": "account", "key": "user"}.get(kind)
            if owner_kind is not None and await self._find(owner_kind, owner) is None:
                return None
            if not may_replace(record, await self._find(kind, name)):
                return None
            return [Write(cql.SAVE_IDENTITY, (REALM, kind, name, owner, _encode(record).decode()))]

        return await self._change(plan, lambda: self._is(kind, name, record))

    async def _is(self, kind: str, name: str, record: Record | None) -> bool:
        return await self._find(kind, name) == record

    async def _find(self, kind: str, name: str) -> Record | None:
        rows = whole(await self._session.read(cql.FIND_IDENTITY, (REALM, kind, name)))
        if not rows:
            return None
        if kind == "account":
            return self._accounts.one(rows[0][0], name)
        return (self._users if kind == "user" else self._keys).one(rows[0][0], name)

    async def _change(self, plan: Plan, is_done: Callable[[], Awaitable[bool]]) -> bool:
        """Makes the planned change, planning it again whenever anything else changed meanwhile. False when the plan is
        None. After an attempt without an answer, `is_done` says whether it was applied."""
        is_doubtful = False
        for _ in range(ATTEMPTS_MAX):
            version = await self.identities_version()
            writes = await plan()
            if writes is None:
                return is_doubtful and await is_done()
            count = Write(cql.COUNT_IDENTITIES, (version + 1, REALM, version or None))
            try:
                decision = await self._session.decide([count, *writes])
            except OutcomeUnknown:
                is_doubtful = True
                continue
            if decision.is_applied:
                return True
        raise StoreUnavailable("Accounts change too fast, or Cassandra does not answer. Nothing was changed.")


def _named(rows: Iterable[Row], wanted: str) -> list[Row]:
    return [(name, text) for kind, name, text, _ in rows if kind == wanted]
