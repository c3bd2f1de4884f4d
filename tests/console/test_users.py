"""Users and keys: the first password makes logins mandatory, secrets are shown once, changes take effect at once."""

from __future__ import annotations

import pytest

from admin.session import FLASH_MS_MAX
from cqs.identity import Role, User
from tests.console.desk import PASSWORD, Desk


async def user_of(desk: Desk, name: str) -> User:
    return next(user for user in (await desk.accounts.identities()).users if user.name == name)


@pytest.fixture
async def root(desk: Desk) -> Desk:
    await desk.add_user("root", Role.ADMINISTRATOR)
    await desk.add_user("alice", Role.OPERATOR)
    await desk.log_in("root")
    await desk.get("/users")
    return desk


async def test_the_first_password_closes_the_door(desk: Desk) -> None:
    await desk.get("/users")

    page = await desk.post("/users/add", {"name": "root", "role": "administrator", "password": PASSWORD})

    assert page.path == "/ADMIN/login"
    assert (await desk.get("/users")).path.startswith("/ADMIN/login")
    assert (await desk.log_in("root")).path == "/ADMIN/"


@pytest.mark.parametrize(
    "of",
    [{"role": "operator"}, {"role": "read_only"}, {"role": "administrator", "account": "111122223333"}],
)
async def test_the_first_user_with_a_password_must_be_able_to_let_others_in(desk: Desk, of: dict[str, str]) -> None:
    await desk.get("/users")

    page = await desk.post("/users/add", {"name": "bob", "password": PASSWORD} | of)

    assert page.status == 422
    assert "must be an administrator" in page.words
    assert not (await desk.accounts.identities()).users


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "a b"}, "is not a valid user name"),
        ({"name": ""}, "is not a valid user name"),
        ({"name": "alice"}, "There is a user 'alice' already"),
        ({"name": "new", "password": "short"}, "A password must have 8 to 256 characters"),
        ({"name": "new", "role": "king"}, "Role: it must be one of"),
        ({"name": "new", "account": "12"}, "Account: twelve digits"),
    ],
)
async def test_a_wrong_value_is_told(root: Desk, fields: dict[str, str], told: str) -> None:
    page = await root.post("/users/add", {"role": "operator", **fields})

    assert page.status == 422
    assert told in page.words
    assert len((await root.accounts.identities()).users) == 2


async def test_a_secret_is_shown_once_and_written_nowhere(root: Desk) -> None:
    page = await root.post("/users/alice/keys/add")
    key = (await root.accounts.identities()).keys[0]
    secret = page.text.partition("AWS_SECRET_ACCESS_KEY=")[2].split()[0]

    again = await root.get("/users/alice")
    log = await root.get("/changes")

    assert len(secret) >= 30
    assert key.key_id in again.words
    assert secret not in again.text
    assert key.key_id in log.words
    assert secret not in log.text
    assert page.headers["Cache-Control"] == "no-store"


async def test_whoever_copied_the_cookie_with_a_secret_is_not_shown_it(root: Desk) -> None:
    answer = await root.post("/users/alice/keys/add", follow=False)
    cookie = answer.headers["Set-Cookie"].partition("cqs_flash=")[2].partition(";")[0].strip('"')
    thief = await root.other()
    await thief.log_in("root")

    async def shown(desk: Desk) -> bool:
        desk.client.session.cookie_jar.update_cookies({"cqs_flash": cookie})
        return "AWS_SECRET_ACCESS_KEY=" in (await desk.get("/users/alice")).text

    assert not await shown(thief)
    assert await shown(root)
    root.bench.clock.advance_ms(FLASH_MS_MAX)
    assert not await shown(root)
    await thief.client.session.close()


async def test_a_user_who_is_not_there_is_not_found(root: Desk) -> None:
    assert (await root.get("/users/nobody")).status == 404


async def test_a_key_is_disabled_enabled_and_dropped(root: Desk) -> None:
    await root.post("/users/alice/keys/add")
    key_id = (await root.accounts.identities()).keys[0].key_id

    await root.post("/users/alice/keys/enabled", key=key_id, enabled="0")
    disabled = (await root.accounts.identities()).keys[0]
    await root.post("/users/alice/keys/enabled", key=key_id, enabled="1")
    enabled = (await root.accounts.identities()).keys[0]
    await root.post("/users/alice/keys/drop", key=key_id)

    assert (disabled.is_enabled, enabled.is_enabled) == (False, True)
    assert not (await root.accounts.identities()).keys


async def test_a_key_is_only_touched_by_its_users_page(root: Desk) -> None:
    key = await root.accounts.add_key("root")

    page = await root.post("/users/alice/keys/drop", key=key.key_id)

    assert "alice has no such key" in page.words
    assert len((await root.accounts.identities()).keys) == 1


async def test_role_password_and_state_are_changed(root: Desk) -> None:
    await root.post("/users/alice/role", role="read_only")
    await root.post("/users/alice/password", password="another password")
    await root.post("/users/alice/enabled", enabled="0")

    alice = await user_of(root, "alice")
    assert alice.role is Role.READ_ONLY
    assert not alice.is_enabled
    await root.post("/users/alice/enabled", enabled="1")
    assert await root.accounts.user_with_password("alice", "another password")


async def test_an_empty_password_is_no_accident(root: Desk) -> None:
    refused = await root.post("/users/alice/password", password="")
    await root.post("/users/alice/password", password="", none="1")

    assert refused.status == 422
    assert (await user_of(root, "alice")).password_hash == ""


async def test_the_last_administrator_can_not_be_lost(root: Desk) -> None:
    for path, fields in (
        ("drop", {"typed": "root"}),
        ("enabled", {"enabled": "0"}),
        ("role", {"role": "operator"}),
        ("password", {"password": "", "none": "1"}),
    ):
        page = await root.post(f"/users/root/{path}", fields)
        assert "is the last administrator who can log in" in page.words, path


async def test_a_user_is_dropped_after_its_name_was_typed(root: Desk) -> None:
    wrong = await root.post("/users/alice/drop", typed="alic")
    right = await root.post("/users/alice/drop", typed="alice")

    assert "type 'alice' to continue" in wrong.words
    assert "User alice was deleted." in right.words


async def test_passwords_and_hashes_are_on_no_page(root: Desk) -> None:
    for path in ("/users", "/users/alice", "/changes"):
        page = await root.get(path)
        assert "argon2" not in page.text
        assert PASSWORD not in page.text


async def test_a_refused_user_form_does_not_bring_the_password_back(root: Desk) -> None:
    page = await root.post("/users/add", {"name": "a b", "role": "operator", "password": "typed secretly"})

    assert page.status == 422
    assert "typed secretly" not in page.text
