"""The contract of identity stores, in memory and in SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from cqs.errors import StoreUnavailable
from cqs.identity import AccessKey, Account, EndedSession, Identities, Role, User
from cqs.store.identity import IdentityStore, MemoryIdentities
from cqs.store.sqlite.identity import SqliteIdentities
from cqs.store.sqlite.store import SqliteStore
from cqs.testing.clock import ManualClock

ACCOUNT = Account(account_id="111122223333", name="orders", created_ms=1)
ALICE = User(
    name="alice",
    account="111122223333",
    role=Role.ADMINISTRATOR,
    user_id="AIDA1",
    password_hash="$argon2id$",
    created_ms=2,
    sessions=3,
    ended=(EndedSession("sid", 9),),
)
KEY = AccessKey(key_id="AKIA1", user="alice", sealed=b"\x00\xff sealed", created_ms=3)


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[IdentityStore]:
    if request.param == "memory":
        yield MemoryIdentities()
        return
    file = SqliteStore(tmp_path, ManualClock())
    await file.open()
    identities = SqliteIdentities(file)
    await identities.open()
    yield identities
    await file.close()


async def with_alice(store: IdentityStore) -> None:
    assert await store.save_account(ACCOUNT)
    assert await store.save_user(ALICE)
    assert await store.save_key(KEY)


async def test_new_store_knows_nobody(store: IdentityStore) -> None:
    assert await store.identities() == Identities(version=0)
    assert await store.identities_version() == 0


async def test_what_was_saved_is_read_back_whole(store: IdentityStore) -> None:
    await with_alice(store)

    assert await store.identities() == Identities(version=3, accounts=(ACCOUNT,), users=(ALICE,), keys=(KEY,))


async def test_records_come_in_the_order_of_their_names(store: IdentityStore) -> None:
    await with_alice(store)
    for name in ("zoe", "bob"):
        assert await store.save_user(msgspec.structs.replace(ALICE, name=name, user_id=name))

    assert [user.name for user in (await store.identities()).users] == ["alice", "bob", "zoe"]


async def test_record_is_made_once(store: IdentityStore) -> None:
    await with_alice(store)

    assert not await store.save_account(msgspec.structs.replace(ACCOUNT, name="other"))
    assert not await store.save_user(msgspec.structs.replace(ALICE, role=Role.READ_ONLY))
    assert not await store.save_key(msgspec.structs.replace(KEY, is_enabled=False))
    assert (await store.identities()).version == 3


async def test_change_needs_the_version_below_it(store: IdentityStore) -> None:
    await with_alice(store)
    disabled = msgspec.structs.replace(KEY, is_enabled=False, version=1)

    assert await store.save_key(disabled)
    assert not await store.save_key(msgspec.structs.replace(KEY, version=1))
    assert not await store.save_key(msgspec.structs.replace(KEY, version=3))
    assert (await store.identities()).keys == (disabled,)
    assert not await store.save_user(msgspec.structs.replace(ALICE, name="nobody", version=1))


async def test_of_two_changes_at_once_one_is_refused(store: IdentityStore) -> None:
    await with_alice(store)
    changes = [msgspec.structs.replace(ALICE, role=role, version=1) for role in (Role.OPERATOR, Role.READ_ONLY)]

    assert sorted(await asyncio.gather(*(store.save_user(change) for change in changes))) == [False, True]


async def test_change_of_a_dropped_user_does_not_hit_its_namesake(store: IdentityStore) -> None:
    await with_alice(store)
    assert await store.drop_user("alice")
    assert await store.save_user(msgspec.structs.replace(ALICE, user_id="AIDA2"))

    assert not await store.save_user(msgspec.structs.replace(ALICE, role=Role.READ_ONLY, version=1))


async def test_user_needs_an_account_and_a_key_a_user(store: IdentityStore) -> None:
    assert not await store.save_user(ALICE)
    assert not await store.save_key(KEY)
    assert await store.identities_version() == 0


async def test_keys_go_with_their_user_and_no_others(store: IdentityStore) -> None:
    await with_alice(store)
    assert await store.save_user(msgspec.structs.replace(ALICE, name="bob", user_id="AIDA2"))
    bobs = msgspec.structs.replace(KEY, key_id="AKIA2", user="bob")
    assert await store.save_key(bobs)

    assert await store.drop_user("alice")

    assert (await store.identities()).keys == (bobs,)
    assert not await store.drop_user("alice")
    assert not await store.drop_key("AKIA1")
    assert await store.drop_key("AKIA2")
    assert (await store.identities()).keys == ()


async def test_version_grows_with_every_change_and_with_no_other_call(store: IdentityStore) -> None:
    versions = [await store.identities_version()]
    await store.save_account(ACCOUNT)
    versions.append(await store.identities_version())
    await store.save_user(ALICE)
    versions.append(await store.identities_version())
    await store.save_user(ALICE)
    await store.drop_key("AKIA9")
    versions.append(await store.identities_version())
    await store.drop_user("alice")
    versions.append(await store.identities_version())

    assert versions == [0, 1, 2, 2, 3]


async def test_identities_survive_a_restart_and_live_beside_the_messages(tmp_path: Path) -> None:
    for is_first in (True, False):
        file = SqliteStore(tmp_path, ManualClock())
        await file.open()
        store = SqliteIdentities(file)
        await store.open()
        if is_first:
            await with_alice(store)
        assert (await store.identities()).keys == (KEY,)
        await file.close()
    with pytest.raises(StoreUnavailable):
        await store.identities()
