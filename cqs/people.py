"""The identities of a running server: accounts, users and keys in the chosen store.

    open ─► master key ─► keys read, each one decrypted ─► users of the users file ─► serving, a refresh each second

The master key that encrypts secrets comes from the configuration, or is a file in the data folder created at the first
start; in memory it lives only as long as what it encrypts. All nodes of a cluster must have the same one.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from cqs import folders
from cqs.backends import folder_of, store_of
from cqs.clock import Clock
from cqs.config import Config
from cqs.config.values import with_home
from cqs.errors import ConfigError
from cqs.identity import Identities
from cqs.service import boot_accounts
from cqs.service.accounts import Accounts
from cqs.service.boot_accounts import Declared
from cqs.service.credentials import Credentials, unopened, usable
from cqs.service.passwords import Passwords
from cqs.service.seal import KEY_BYTES, Sealer, master_key_of, read_or_make_master_key
from cqs.store.identity import IdentityStore, MemoryIdentities
from cqs.store.interface import Store
from cqs.store.memory import MemoryStore
from cqs.store.sqlite.identity import IdentityFile, SqliteIdentities
from cqs.store.sqlite.store import SqliteStore

MASTER_KEY_FILE = "master.key"
_log = structlog.get_logger("cqs.people")


@dataclass(frozen=True, slots=True)
class People:
    """What authenticates requests, and what changes users. One of each per process, so that a change made here takes
    effect here at once."""

    accounts: Accounts
    credentials: Credentials


async def open_people(config: Config, store: Store, clock: Clock) -> People:
    """Loads the identities of the open store and creates those that the users file declares. Raises ConfigError,
    StoreUnavailable."""
    identities = await _identities_of(store)
    problem = key_problem(config, await identities.identities())
    if problem and config.security.auth != "open":
        raise ConfigError(problem)
    people = _people_of(config, identities, clock)
    await people.credentials.refresh()
    if problem:
        _log.warning("access_keys_sealed", reason=problem)
    declared = _declared(config)
    await boot_accounts.declare(people.accounts, declared, f"users_file: {config.security.users_file}")
    if config.security.auth != "open" and not (await people.accounts.identities()).keys:
        _log.warning("no_access_keys", hint="no request can be signed: create a key at /ADMIN or with `cqs key add`")
    return people


def key_problem(config: Config, identities: Identities) -> str:
    """Why a server can't check what these access keys sign, "" = it can. Creates nothing: a new master key
    would be taken for the one that is missing. Raises ConfigError if the master key can't be read."""
    keys = list(usable(identities))
    if not keys:
        return ""
    path = _master_key_file(config)
    is_set = config.security.master_key or (config.backends.cassandra and config.security.auth != "open")
    if not is_set and not path.exists():
        return f"master_key: {path} is missing, which encrypted {_named(keys)}; put it back, or delete the access key"
    wrong = unopened(identities, Sealer(_master_keys(config)))
    if not wrong:
        return ""
    return (
        f"master_key: it does not decrypt {_named(wrong)}; add the master key that encrypted it, after a comma, or "
        "delete the access key"
    )


def _named(key_ids: list[str]) -> str:
    return f"access key {', '.join(key_ids[:3])}{' and others' if len(key_ids) > 3 else ''}"


async def try_declared(config: Config, clock: Clock) -> None:
    """Creates the users of the users file in memory, to validate it. Raises ConfigError."""
    here = replace(config, storage=replace(config.storage, is_in_memory=True))
    accounts = _people_of(here, MemoryIdentities(), clock).accounts
    await boot_accounts.declare(accounts, _declared(config), f"users_file: {config.security.users_file}")


@asynccontextmanager
async def accounts_for_command(config: Config, clock: Clock) -> AsyncIterator[Accounts]:
    """The accounts for a command: of a data folder while no server uses it, of a cluster at any time. Raises
    ConfigError, CannotStart, DataInUse, StoreUnavailable."""
    if config.storage.is_in_memory:
        raise ConfigError(
            "in_memory: the users of a server in memory can't be changed by a command; declare them in users_file"
        )
    if config.backends.cassandra:
        store = store_of(config, clock)
        await store.open()
        try:
            yield _people_of(config, await _identities_of(store), clock).accounts
        finally:
            await store.close()
        return
    file = IdentityFile(folder_of(config.storage))
    await file.open()
    try:
        kept = SqliteIdentities(file)
        await kept.open()
        yield _people_of(config, kept, clock).accounts
    finally:
        await file.close()


def _people_of(config: Config, identities: IdentityStore, clock: Clock) -> People:
    sealer = Sealer(_master_keys(config))
    credentials = Credentials(identities, sealer, clock)
    accounts = Accounts(identities, sealer, Passwords(), clock, credentials, config.behaviour.account)
    return People(accounts, credentials)


def _declared(config: Config) -> Declared:
    path = config.security.users_file
    return boot_accounts.read_file(with_home(path)) if path else Declared()


async def _identities_of(store: Store) -> IdentityStore:
    if isinstance(store, SqliteStore):
        kept = SqliteIdentities(store)
        await kept.open()
        return kept
    if isinstance(store, MemoryStore):
        return MemoryIdentities()
    from cqs.store.cassandra import CassandraStore
    from cqs.store.cassandra.identity import CassandraIdentities

    assert isinstance(store, CassandraStore)
    return CassandraIdentities(store.session)


def _master_keys(config: Config) -> list[bytes]:
    if config.security.master_key:
        return [master_key_of(text) for text in config.security.master_key.split(",")]
    if config.storage.is_in_memory:
        return [os.urandom(KEY_BYTES)]
    if config.backends.cassandra:
        if config.security.auth != "open":
            raise ConfigError(
                "master_key: not given; with Cassandra every node needs the same one, made by `openssl rand -base64 32`"
            )
        folders.make(folder_of(config.storage), 0o700)
    return [read_or_make_master_key(_master_key_file(config))]


def _master_key_file(config: Config) -> Path:
    return folder_of(config.storage) / MASTER_KEY_FILE
