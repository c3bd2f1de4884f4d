"""Accounts, users and keys of a server, in the store that was chosen. The master key that seals secrets lies in the
data folder, made at the first start; in memory it is as short-lived as what it seals."""

from __future__ import annotations

import os

from cqs.clock import Clock
from cqs.config.settings import Storage
from cqs.parts import folder_of
from cqs.service.accounts import Accounts
from cqs.service.credentials import Credentials
from cqs.service.passwords import Passwords
from cqs.service.seal import KEY_BYTES, Sealer, read_or_make_master_key
from cqs.store.identity import IdentityStore, MemoryIdentities
from cqs.store.interface import Store
from cqs.store.sqlite import SqliteStore
from cqs.store.sqlite.identity import SqliteIdentities

MASTER_KEY_FILE = "master.key"


async def accounts_of(storage: Storage, store: Store, clock: Clock) -> Accounts:
    """Everybody, as the open store knows them. Raises ConfigError (the master key), StoreUnavailable."""
    if isinstance(store, SqliteStore):
        key = read_or_make_master_key(folder_of(storage) / MASTER_KEY_FILE)
        kept = SqliteIdentities(store)
        await kept.open()
        return _accounts(kept, Sealer([key]), clock)
    return _accounts(MemoryIdentities(), Sealer([os.urandom(KEY_BYTES)]), clock)


def _accounts(identities: IdentityStore, sealer: Sealer, clock: Clock) -> Accounts:
    return Accounts(identities, sealer, Passwords(), clock, Credentials(identities, sealer, clock))
