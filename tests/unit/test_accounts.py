"""Users, roles, passwords and access keys: which changes are allowed, and their effects."""

from __future__ import annotations

import asyncio

import pytest
from argon2 import PasswordHasher

from cqs.errors import IdentityError
from cqs.identity import Role
from cqs.service.passwords import Passwords
from tests.unit.people import OURS, People, cheap_passwords, make_people

PASSWORD = "correct horse battery"


async def with_alice() -> People:
    people = make_people()
    await people.accounts.add_user("alice", OURS, Role.ADMINISTRATOR, PASSWORD)
    return people


async def test_new_user_has_an_account_a_role_and_an_id_of_its_own() -> None:
    people = make_people()
    alice = await people.accounts.add_user("alice", OURS, Role.OPERATOR)
    bob = await people.accounts.add_user("bob", OURS, Role.READ_ONLY)

    assert (alice.account, alice.role, alice.arn) == (OURS, Role.OPERATOR, f"arn:aws:iam::{OURS}:user/alice")
    assert alice.user_id.startswith("AIDA") and len(alice.user_id) == 21 and alice.user_id != bob.user_id
    everybody = await people.accounts.identities()
    assert [account.account_id for account in everybody.accounts] == [OURS]
    assert everybody.users == (alice, bob)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "<script>", "x" * 65, "é", "a\n"])
async def test_bad_user_name_is_refused(name: str) -> None:
    with pytest.raises(IdentityError, match="is not a valid user name"):
        await make_people().accounts.add_user(name, OURS, Role.OPERATOR)


@pytest.mark.parametrize("account", ["", "1", "11112222333a", "1111222233334", "١١١١٢٢٢٢٣٣٣٣"])
async def test_bad_account_is_refused(account: str) -> None:
    with pytest.raises(IdentityError, match="must be twelve digits"):
        await make_people().accounts.add_user("alice", account, Role.OPERATOR)


async def test_name_is_given_once() -> None:
    people = await with_alice()

    with pytest.raises(IdentityError, match="There is a user 'alice' already"):
        await people.accounts.add_user("alice", "222233334444", Role.OPERATOR)


async def test_password_is_kept_as_an_argon2id_hash_and_checked() -> None:
    people = await with_alice()
    (alice,) = (await people.accounts.identities()).users

    assert alice.password_hash.startswith("$argon2id$") and PASSWORD not in repr(alice)
    assert await people.accounts.user_with_password("alice", PASSWORD) == alice
    for name, password in [("alice", PASSWORD + " "), ("alice", ""), ("nobody", PASSWORD), ("alice", "x" * 300)]:
        assert await people.accounts.user_with_password(name, password) is None


async def test_real_hash_costs_what_argon2_recommends() -> None:
    kept = await Passwords().hash(PASSWORD)

    assert "$m=65536,t=3,p=4$" in kept
    assert await Passwords().is_right(kept, PASSWORD)


async def test_bytes_that_are_not_utf_8_are_refused_as_password_and_as_secret() -> None:
    people, raw = await with_alice(), b"\xff\xfe 12345678".decode(errors="surrogateescape")

    with pytest.raises(IdentityError, match="must be valid UTF-8"):
        await people.accounts.set_password("alice", raw)
    with pytest.raises(IdentityError, match="must be valid UTF-8"):
        await people.accounts.add_key("alice", secret=raw)
    assert await people.accounts.user_with_password("alice", raw) is None


async def test_unknown_name_costs_the_same_work_as_a_wrong_password(monkeypatch: pytest.MonkeyPatch) -> None:
    people = await with_alice()
    checked: list[str] = []
    verify = Passwords._verify

    def counted(self: Passwords, kept: str, password: str) -> bool:
        checked.append(kept[:10])
        return verify(self, kept, password)

    monkeypatch.setattr(Passwords, "_verify", counted)
    await people.accounts.user_with_password("alice", "wrong password")
    await people.accounts.user_with_password("nobody", "wrong password")

    assert checked == ["$argon2id$", "$argon2id$"]


async def test_user_without_password_can_not_log_in_with_any() -> None:
    people = make_people()
    await people.accounts.add_user("robot", OURS, Role.OPERATOR)

    for password in ("", "nobody's password", "robot"):
        assert await people.accounts.user_with_password("robot", password) is None


@pytest.mark.parametrize("password", ["short", "x" * 257])
async def test_password_of_bad_length_is_refused(password: str) -> None:
    people = await with_alice()

    with pytest.raises(IdentityError, match="8 to 256 characters"):
        await people.accounts.set_password("alice", password)


async def test_password_that_looks_like_a_hash_is_a_password() -> None:
    people = await with_alice()
    (alice,) = (await people.accounts.identities()).users

    await people.accounts.set_password("alice", alice.password_hash)

    assert await people.accounts.user_with_password("alice", PASSWORD) is None
    assert await people.accounts.user_with_password("alice", alice.password_hash) is not None


@pytest.mark.parametrize(
    "kept",
    [
        "x",
        "$argon2i$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2g",
        "$argon2id$v=19$m=9999999,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2g",
    ],
)
async def test_hash_that_is_none_or_would_cost_too_much_is_refused(kept: str) -> None:
    with pytest.raises(IdentityError, match="argon2id"):
        await make_people().accounts.add_user("alice", OURS, Role.OPERATOR, password_hash=kept)


async def test_given_hash_is_used_as_it_is_and_renewed_when_its_costs_are_old() -> None:
    people = make_people()
    old = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1).hash(PASSWORD)
    await people.accounts.add_user("alice", OURS, Role.ADMINISTRATOR, password_hash=old)

    assert await people.accounts.user_with_password("alice", PASSWORD) is not None
    (alice,) = (await people.accounts.identities()).users
    assert alice.password_hash != old
    assert not cheap_passwords().is_outdated(alice.password_hash)
    assert await people.accounts.user_with_password("alice", PASSWORD) == alice


@pytest.mark.parametrize("password", [PASSWORD, "short"])
async def test_renewing_a_hash_is_no_condition_of_the_login_and_ends_no_session(password: str) -> None:
    people = make_people()
    old = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1).hash(password)
    alice = await people.accounts.add_user("alice", OURS, Role.OPERATOR, password_hash=old)

    assert await people.accounts.user_with_password("alice", password) == alice
    assert (await people.accounts.identities()).users[0].sessions == alice.sessions


async def test_renewing_a_hash_brings_no_replaced_password_back(monkeypatch: pytest.MonkeyPatch) -> None:
    passwords = cheap_passwords()
    people = make_people(passwords=passwords)
    old = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1).hash(PASSWORD)
    await people.accounts.add_user("alice", OURS, Role.OPERATOR, password_hash=old)
    monkeypatch.setattr(passwords, "is_outdated", lambda kept: kept == old)
    hash_it = passwords.hash

    async def hash_slowly(password: str) -> str:
        monkeypatch.setattr(passwords, "hash", hash_it)
        await people.accounts.set_password("alice", "another password")
        return await hash_it(password)

    monkeypatch.setattr(passwords, "hash", hash_slowly)
    await people.accounts.user_with_password("alice", PASSWORD)

    assert await people.accounts.user_with_password("alice", PASSWORD) is None
    assert await people.accounts.user_with_password("alice", "another password") is not None


async def test_disabled_user_can_not_log_in() -> None:
    people = await with_alice()
    await people.accounts.add_user("bob", OURS, Role.ADMINISTRATOR, PASSWORD)

    await people.accounts.set_user_enabled("bob", False)
    assert await people.accounts.user_with_password("bob", PASSWORD) is None
    await people.accounts.set_user_enabled("bob", True)
    assert await people.accounts.user_with_password("bob", PASSWORD) is not None


async def test_last_administrator_who_can_log_in_stays() -> None:
    people = await with_alice()
    accounts = people.accounts
    await accounts.add_user("robot", OURS, Role.ADMINISTRATOR)

    for change in (
        accounts.set_role("alice", Role.OPERATOR),
        accounts.set_user_enabled("alice", False),
        accounts.set_password("alice", ""),
        accounts.drop_user("alice"),
    ):
        with pytest.raises(IdentityError, match="last administrator"):
            await change
    await accounts.set_password("robot", PASSWORD)
    await accounts.drop_user("alice")
    assert [user.name for user in (await accounts.identities()).users] == ["robot"]


async def test_last_administrator_of_the_servers_own_account_stays() -> None:
    people = make_people()
    await people.accounts.add_user("root", people.accounts.home, Role.ADMINISTRATOR, PASSWORD)
    await people.accounts.add_user("alice", OURS, Role.ADMINISTRATOR, PASSWORD)

    with pytest.raises(IdentityError, match="last administrator of the server's own account"):
        await people.accounts.drop_user("root")
    await people.accounts.drop_user("alice")


async def test_changes_by_two_at_once_all_count() -> None:
    people = await with_alice()
    await people.accounts.add_user("bob", OURS, Role.OPERATOR)

    await asyncio.gather(
        people.accounts.set_role("bob", Role.READ_ONLY),
        people.accounts.set_user_enabled("bob", False),
        people.accounts.set_password("bob", PASSWORD),
    )

    bob = (await people.accounts.identities()).users[1]
    assert (bob.role, bob.is_enabled, bool(bob.password_hash), bob.version) == (Role.READ_ONLY, False, True, 3)


async def test_whoever_is_not_there_can_not_be_changed() -> None:
    accounts = (await with_alice()).accounts

    for change in (
        accounts.set_role("bob", Role.OPERATOR),
        accounts.set_password("bob", PASSWORD),
        accounts.drop_user("bob"),
        accounts.add_key("bob"),
        accounts.set_key_enabled("AKIA1", False),
        accounts.drop_key("AKIA1"),
    ):
        with pytest.raises(IdentityError, match="There is no"):
            await change
