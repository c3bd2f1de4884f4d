"""Access keys: shown once, stored encrypted, unique, and re-encrypted under a new master key."""

from __future__ import annotations

import pytest

from cqs.errors import IdentityError
from cqs.identity import Role
from cqs.service.accounts import KEYS_PER_USER_MAX
from cqs.service.credentials import unopened
from cqs.service.seal import Sealer
from tests.unit.people import MASTER_KEY, OURS, People, make_people


async def with_alice() -> People:
    people = make_people()
    await people.accounts.add_user("alice", OURS, Role.ADMINISTRATOR)
    return people


async def test_new_key_is_shown_once_and_kept_sealed() -> None:
    people = await with_alice()
    new = await people.accounts.add_key("alice")
    (kept,) = (await people.accounts.identities()).keys

    assert len(new.key_id) == 20 and new.key_id.startswith("AKIA") and len(new.secret) == 40
    assert new.secret.encode() not in kept.sealed and new.secret not in repr(new) + repr(kept) + str(new)
    found = people.credentials.find(new.key_id)
    assert found is not None and found.secret == new.secret.encode()
    assert (found.caller.arn, found.caller.role) == (f"arn:aws:iam::{OURS}:user/alice", Role.ADMINISTRATOR)


async def test_keys_and_secrets_never_repeat() -> None:
    people = await with_alice()
    keys = [await people.accounts.add_key("alice") for _ in range(KEYS_PER_USER_MAX)]

    assert len({key.key_id for key in keys}) == len({key.secret for key in keys}) == KEYS_PER_USER_MAX
    with pytest.raises(IdentityError, match="has 10 access keys already"):
        await people.accounts.add_key("alice")


@pytest.mark.parametrize(("key_id", "secret"), [("a/b", "s"), ("x" * 129, "s"), ("a b", "s"), ("A", "x" * 129)])
async def test_bad_key_is_refused(key_id: str, secret: str) -> None:
    people = await with_alice()

    with pytest.raises(IdentityError):
        await people.accounts.add_key("alice", key_id, secret)


async def test_key_id_is_given_once() -> None:
    people = await with_alice()
    await people.accounts.add_key("alice", "AKIA1", "one")

    with pytest.raises(IdentityError, match="There is a key 'AKIA1' already"):
        await people.accounts.add_key("alice", "AKIA1", "two")
    found = people.credentials.find("AKIA1")
    assert found is not None and found.secret == b"one"


async def test_secrets_are_sealed_anew_under_a_new_master_key_and_the_old_one_can_go() -> None:
    people = await with_alice()
    new = await people.accounts.add_key("alice")
    later = bytes(reversed(MASTER_KEY))
    both = make_people(people.store, people.clock, Sealer([later, MASTER_KEY]))
    await both.credentials.refresh()
    assert both.credentials.find(new.key_id) is not None

    assert await both.accounts.reseal() == 1
    assert await both.accounts.reseal() == 0

    alone = make_people(people.store, people.clock, Sealer([later]))
    await alone.credentials.refresh()
    found = alone.credentials.find(new.key_id)
    assert found is not None and found.secret == new.secret.encode()
    known = await people.store.identities()
    assert unopened(known, Sealer([later])) == []
    assert unopened(known, Sealer([MASTER_KEY])) == [new.key_id]
