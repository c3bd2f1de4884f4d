"""Changes to accounts, users and access keys, for `cqs user`, the console and the users file.

Every change is a compare-and-set: it reads the record, modifies it and writes it only if nobody else has changed it
since; after a lost race it starts over. When the call returns, the change is in force on this node (`Credentials` are
refreshed), and within seconds on the others.
"""

from __future__ import annotations

import secrets
from base64 import b32encode
from collections.abc import Callable
from contextlib import suppress

import msgspec

from cqs.clock import Clock
from cqs.errors import CqsError, IdentityError, NoSuchIdentity
from cqs.identity import ACCOUNT_ID, DEFAULT_ACCOUNT, KEY_ID, USER_NAME, AccessKey, Account, Identities, Role, User
from cqs.service.administrators import check_not_last, is_administrating
from cqs.service.credentials import Credentials
from cqs.service.passwords import Passwords, check_hash, is_unicode
from cqs.service.seal import Sealer
from cqs.service.sessions import without_session, without_sessions
from cqs.store.identity import IdentityStore

KEYS_PER_USER_MAX = 10
SECRET_LENGTH_MIN, SECRET_LENGTH_MAX = 1, 128
_TRIES_MAX = 10


class NewKey(msgspec.Struct, frozen=True):
    """An access key with its secret in plain text, which is shown once."""

    key_id: str
    secret: str

    def __repr__(self) -> str:
        return f"NewKey({self.key_id!r})"


class Accounts:
    """All changes raise IdentityError (its text says why), StoreUnavailable or OutcomeUnknown."""

    def __init__(
        self,
        store: IdentityStore,
        sealer: Sealer,
        passwords: Passwords,
        clock: Clock,
        credentials: Credentials,
        home: str = DEFAULT_ACCOUNT,
    ) -> None:
        """`home`: the server's own account, whose administrators manage all others."""
        self.home = home
        self._store = store
        self._sealer = sealer
        self._passwords = passwords
        self._clock = clock
        self._credentials = credentials

    async def identities(self) -> Identities:
        """All accounts, users and keys, read from the store now."""
        return await self._store.identities()

    async def add_account(self, account_id: str, name: str = "") -> Account:
        """Returns the account. Creates it if it does not exist; an existing one is not changed."""
        if not ACCOUNT_ID.fullmatch(account_id):
            raise IdentityError(f"{account_id!r} is not an account id: it must be twelve digits.")
        account = Account(account_id=account_id, name=name, created_ms=self._clock.now_ms())
        if await self._store.save_account(account):
            return account
        known = [one for one in (await self._store.identities()).accounts if one.account_id == account_id]
        return known[0] if known else account

    async def add_user(
        self, name: str, account_id: str, role: Role, password: str = "", password_hash: str = ""
    ) -> User:
        """Creates a user, and its account if that does not exist. A user without a password can't log in."""
        if not USER_NAME.fullmatch(name):
            raise IdentityError(f"{name!r} is not a valid user name: use 1 to 64 letters, digits and + = , . @ _ -")
        kept = check_hash(password_hash) if password_hash else ""
        user = User(
            name=name,
            account=account_id,
            role=role,
            user_id="AIDA" + _letters(17),
            password_hash=await self._passwords.hash(password) if password else kept,
            created_ms=self._clock.now_ms(),
        )
        await self.add_account(account_id)
        if not await self._store.save_user(user):
            raise IdentityError(f"There is a user {name!r} already.")
        await self._credentials.refresh()
        return user

    async def set_password(self, name: str, password: str) -> None:
        """An empty `password` removes it: the user can't log in any more."""
        kept = await self._passwords.hash(password) if password else ""
        await self._change_user(name, lambda user: without_sessions(user, password_hash=kept))

    async def set_role(self, name: str, role: Role) -> None:
        await self._change_user(name, lambda user: without_sessions(user, role=role))

    async def set_user_enabled(self, name: str, is_enabled: bool) -> None:
        """A disabled user can't log in, and none of its keys is accepted."""
        await self._change_user(name, lambda user: without_sessions(user, is_enabled=is_enabled))

    async def end_session(self, name: str, sid: str, until_ms: int) -> None:
        """Ends the console session permanently, on every node and across restarts. Idempotent."""
        now_ms = self._clock.now_ms()
        await self._change_user(name, lambda user: without_session(user, sid, until_ms, now_ms))

    async def end_sessions(self, name: str) -> None:
        """Ends all console sessions of the user."""
        await self._change_user(name, without_sessions)

    async def drop_user(self, name: str) -> None:
        """Removes the user and its keys."""
        everybody = await self._store.identities()
        user = _user_of(everybody, name)
        check_not_last(everybody, user, self.home)
        if is_administrating(user):
            await self.set_user_enabled(name, False)
        if not await self._store.drop_user(name):
            raise NoSuchIdentity(f"There is no user {name!r}.")
        await self._credentials.refresh()

    async def user_with_password(self, name: str, password: str) -> User | None:
        """The user, if it is enabled and the password is right, else None. An unknown name takes as long as a wrong
        password."""
        known = [user for user in (await self._store.identities()).users if user.name == name and user.is_enabled]
        user = known[0] if known else None
        if not await self._passwords.is_right(user.password_hash if user else "", password) or user is None:
            return None
        if self._passwords.is_outdated(user.password_hash):
            with suppress(CqsError):
                await self._renew_hash(user, password)
        return user

    async def _renew_hash(self, user: User, password: str) -> None:
        """Hashes the same password with today's cost parameters. Does nothing if the password has been changed
        meanwhile."""
        kept = await self._passwords.hash(password)

        def change(present: User) -> User:
            is_same = present.password_hash == user.password_hash
            return msgspec.structs.replace(present, password_hash=kept) if is_same else present

        await self._change_user(user.name, change)

    async def add_key(self, name: str, key_id: str = "", secret: str = "") -> NewKey:
        """Creates an access key; an omitted id or secret is generated. The secret is never shown again."""
        everybody = await self._store.identities()
        _user_of(everybody, name)
        if sum(key.user == name for key in everybody.keys) >= KEYS_PER_USER_MAX:
            raise IdentityError(f"{name!r} has {KEYS_PER_USER_MAX} access keys already: delete one first.")
        new = NewKey(key_id or "AKIA" + _letters(16), secret or secrets.token_urlsafe(30))
        if not KEY_ID.fullmatch(new.key_id):
            raise IdentityError(f"{new.key_id!r} is not a valid key id: use 1 to 128 letters, digits and underscores.")
        if not SECRET_LENGTH_MIN <= len(new.secret) <= SECRET_LENGTH_MAX:
            raise IdentityError(f"A secret must have {SECRET_LENGTH_MIN} to {SECRET_LENGTH_MAX} characters.")
        if not is_unicode(new.secret):
            raise IdentityError("A secret must be valid UTF-8.")
        sealed = self._sealer.seal(new.secret.encode(), new.key_id)
        key = AccessKey(key_id=new.key_id, user=name, sealed=sealed, created_ms=self._clock.now_ms())
        if not await self._store.save_key(key):
            raise IdentityError(f"There is a key {new.key_id!r} already, or no user {name!r} any more.")
        await self._credentials.refresh()
        return new

    async def set_key_enabled(self, key_id: str, is_enabled: bool) -> None:
        await self._change_key(key_id, lambda key: msgspec.structs.replace(key, is_enabled=is_enabled))

    async def drop_key(self, key_id: str) -> None:
        """Removes the key permanently."""
        if not await self._store.drop_key(key_id):
            raise NoSuchIdentity(f"There is no access key {key_id!r}.")
        await self._credentials.refresh()

    async def reseal(self) -> int:
        """Re-encrypts under the first master key every secret that an older one sealed, so that the older ones can be
        removed. Returns how many."""
        outdated = [key for key in (await self._store.identities()).keys if not self._sealer.is_current(key.sealed)]
        for key in outdated:
            await self._change_key(key.key_id, self._resealed)
        return len(outdated)

    def _resealed(self, key: AccessKey) -> AccessKey:
        secret = self._sealer.open(key.sealed, key.key_id)
        return msgspec.structs.replace(key, sealed=self._sealer.seal(secret, key.key_id))

    async def _change_user(self, name: str, change: Callable[[User], User]) -> None:
        for _ in range(_TRIES_MAX):
            everybody = await self._store.identities()
            user = _user_of(everybody, name)
            changed = change(user)
            if not is_administrating(changed):
                check_not_last(everybody, user, self.home)
            if await self._store.save_user(msgspec.structs.replace(changed, version=user.version + 1)):
                await self._credentials.refresh()
                if is_administrating(user) and not is_administrating(changed):
                    await self._check_again(user)
                return
        raise IdentityError(f"{name!r} is being changed by others: try again.")

    async def _check_again(self, before: User) -> None:
        """Two concurrent changes that each remove an administrator may each have seen the other's administrator. If
        nobody is left now, undoes this change and raises IdentityError."""
        try:
            check_not_last(await self._store.identities(), before, self.home)
        except IdentityError:
            was = {"role": before.role, "is_enabled": before.is_enabled, "password_hash": before.password_hash}
            await self._change_user(before.name, lambda user: msgspec.structs.replace(user, **was))
            raise

    async def _change_key(self, key_id: str, change: Callable[[AccessKey], AccessKey]) -> None:
        for _ in range(_TRIES_MAX):
            known = [key for key in (await self._store.identities()).keys if key.key_id == key_id]
            if not known:
                raise NoSuchIdentity(f"There is no access key {key_id!r}.")
            changed = change(known[0])
            if await self._store.save_key(msgspec.structs.replace(changed, version=known[0].version + 1)):
                await self._credentials.refresh()
                return
        raise IdentityError(f"Access key {key_id!r} is being changed by others: try again.")


def _user_of(everybody: Identities, name: str) -> User:
    for user in everybody.users:
        if user.name == name:
            return user
    raise NoSuchIdentity(f"There is no user {name!r}.")


def _letters(count: int) -> str:
    """Random capital letters and digits 2 to 7: five bits each."""
    return b32encode(secrets.token_bytes(count)).decode()[:count]
