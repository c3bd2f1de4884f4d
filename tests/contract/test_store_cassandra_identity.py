"""Accounts, users and keys in a real Cassandra, tested against the contract of identity stores."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import msgspec
import pytest

from cqs.store.cassandra import CassandraStore, Options, identity
from cqs.store.cassandra.identity import CassandraIdentities
from cqs.store.identity import IdentityStore
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import CassandraHome, LostAnswers
from tests.needs import needs
from tests.unit import test_accounts_store as suite
from tests.unit.test_accounts_store import (
    test_change_needs_the_version_below_it,
    test_change_of_a_dropped_user_does_not_hit_its_namesake,
    test_keys_go_with_their_user_and_no_others,
    test_new_store_knows_nobody,
    test_of_two_changes_at_once_one_is_refused,
    test_record_is_made_once,
    test_records_come_in_the_order_of_their_names,
    test_user_needs_an_account_and_a_key_a_user,
    test_version_grows_with_every_change_and_with_no_other_call,
    test_what_was_saved_is_read_back_whole,
)

__all__ = [
    "test_change_needs_the_version_below_it",
    "test_change_of_a_dropped_user_does_not_hit_its_namesake",
    "test_keys_go_with_their_user_and_no_others",
    "test_new_store_knows_nobody",
    "test_of_two_changes_at_once_one_is_refused",
    "test_record_is_made_once",
    "test_records_come_in_the_order_of_their_names",
    "test_user_needs_an_account_and_a_key_a_user",
    "test_version_grows_with_every_change_and_with_no_other_call",
    "test_what_was_saved_is_read_back_whole",
]

pytestmark = [needs("java", "mvn"), pytest.mark.slow]


@pytest.fixture
async def node(keyspace: Options) -> AsyncIterator[CassandraStore]:
    home = CassandraHome(keyspace, ManualClock())
    yield await home.open()
    await home.close()


@pytest.fixture
def store(node: CassandraStore, monkeypatch: pytest.MonkeyPatch) -> IdentityStore:
    monkeypatch.setattr(identity, "REALM", f"realm{random.getrandbits(60)}")
    return CassandraIdentities(node.session)


async def test_changes_are_made_once_though_answers_are_lost(node: CassandraStore, store: IdentityStore) -> None:
    lost = LostAnswers(node)
    renamed = msgspec.structs.replace(suite.ACCOUNT, name="renamed", version=1)

    for change in (store.save_account(suite.ACCOUNT), store.save_user(suite.ALICE), store.save_account(renamed)):
        lost.decisions = 1
        assert await change
    lost.decisions = 1
    assert await store.drop_user("alice")

    found = await store.identities()
    assert (found.accounts, found.users, found.version) == ((renamed,), (), 4)
