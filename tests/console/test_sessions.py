"""Logging in: sessions are rotated and expire, and password guesses are limited."""

from __future__ import annotations

from pathlib import Path

import pytest

from admin.action_log import Question
from admin.session import AGE_MS_MAX, IDLE_MS_MAX, TOUCH_MS, Flash, Sessions
from cqs.identity import Role, User
from cqs.testing.clock import ManualClock
from tests.console.desk import PASSWORD, Desk


async def test_the_right_password_gets_in(alice: Desk) -> None:
    page = await alice.get("/")

    assert page.status == 200
    assert "alice" in page.words


async def test_a_wrong_password_and_a_wrong_user_look_the_same(desk: Desk) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)

    wrong_password = await desk.log_in("alice", "wrong password")
    wrong_user = await desk.log_in("nobody", "wrong password")

    assert wrong_password.status == wrong_user.status == 401
    assert wrong_password.words.replace("alice", "") == wrong_user.words.replace("nobody", "")


async def test_the_session_is_a_new_one_after_the_login(desk: Desk) -> None:
    """A cookie planted before the login is worthless afterwards (session fixation)."""
    await desk.add_user("alice", Role.ADMINISTRATOR)
    await desk.get("/login")
    planted = desk.cookie()

    await desk.log_in("alice")

    thief = await desk.other()
    thief.client.session.cookie_jar.update_cookies({"cqs_console": planted})
    assert desk.cookie() != planted
    assert not await thief.is_in()
    assert await desk.is_in()
    await thief.client.session.close()


@pytest.mark.parametrize("change", ["password", "role", "disable", "drop"])
async def test_a_changed_user_is_logged_out_at_once(alice: Desk, change: str) -> None:
    accounts = alice.accounts
    await alice.add_user("root", Role.ADMINISTRATOR)
    if change == "password":
        await accounts.set_password("alice", "another password")
    elif change == "role":
        await accounts.set_role("alice", Role.READ_ONLY)
    elif change == "disable":
        await accounts.set_user_enabled("alice", False)
    else:
        await accounts.drop_user("alice")

    assert not await alice.is_in()


async def test_who_gets_the_name_of_a_dropped_user_is_not_logged_in_by_its_cookie(alice: Desk) -> None:
    await alice.add_user("root", Role.ADMINISTRATOR)
    await alice.accounts.drop_user("alice")

    await alice.add_user("alice", Role.ADMINISTRATOR)

    assert not await alice.is_in()


async def test_an_idle_session_ends(alice: Desk) -> None:
    alice.bench.clock.advance_ms(IDLE_MS_MAX)

    assert not await alice.is_in()


async def test_a_session_in_use_lives_on_but_not_for_ever(alice: Desk) -> None:
    for _ in range(AGE_MS_MAX // (IDLE_MS_MAX - 1_000)):
        alice.bench.clock.advance_ms(IDLE_MS_MAX - 1_000)
        assert await alice.is_in()

    alice.bench.clock.advance_ms(IDLE_MS_MAX - 1_000)
    assert not await alice.is_in()


async def test_a_page_that_refreshes_itself_does_not_keep_the_session_alive(alice: Desk) -> None:
    for _ in range(3):
        alice.bench.clock.advance_ms(IDLE_MS_MAX // 3)
        await alice.get("/", HX_Request="true")

    assert not await alice.is_in()


async def test_a_refresh_after_the_end_reloads_the_page(alice: Desk) -> None:
    alice.bench.clock.advance_ms(IDLE_MS_MAX)

    seen = await alice.get("/", HX_Request="true")

    assert seen.status == 401
    assert seen.headers["HX-Refresh"] == "true"


async def test_five_wrong_passwords_lock_even_the_right_one_out_for_a_while(desk: Desk) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    for _ in range(5):
        assert (await desk.log_in("alice", "wrong password")).status == 401

    locked = await desk.log_in("alice")

    assert locked.status == 429
    assert int(locked.headers["Retry-After"]) == 60
    assert "Too many attempts" in locked.words
    desk.bench.clock.advance_ms(60_000)
    assert (await desk.log_in("alice")).path == "/ADMIN/"


async def test_a_locked_guesser_makes_no_work_of_hashing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    for _ in range(5):
        await desk.log_in("alice", "wrong password")
    asked: list[str] = []

    async def counted(name: str, password: str) -> None:
        asked.append(name)

    monkeypatch.setattr(desk.accounts, "user_with_password", counted)
    await desk.log_in("alice")

    assert asked == []


async def test_a_password_that_is_replaced_while_it_is_checked_lets_nobody_in(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    check = desk.accounts.user_with_password

    async def slowly(name: str, password: str) -> User | None:
        user = await check(name, password)
        await desk.accounts.set_password("alice", "another password")
        return user

    monkeypatch.setattr(desk.accounts, "user_with_password", slowly)
    await desk.log_in("alice")

    assert (await desk.get("/", follow=False)).status == 303


async def test_tries_are_written_down_and_passwords_are_not(desk: Desk) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    await desk.log_in("alice", "my secret guess")
    await desk.log_in("alice")

    written = b"".join(path.read_bytes() for path in sorted(desk_folder(desk).glob("*.jsonl")))

    assert written.count(b'"LogIn"') == 2
    assert b"wrong user or password" in written
    assert b"secret guess" not in written
    assert PASSWORD.encode() not in written


async def test_knocking_at_a_locked_door_fills_no_log(desk: Desk) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    for _ in range(30):
        await desk.log_in("alice", "wrong password")

    lines, _ = await desk.console.actions.find(Question(), 100)

    assert len(lines) == 5


def desk_folder(desk: Desk) -> Path:
    return Path(desk.console.actions.where)


async def test_a_link_from_another_site_comes_again_with_its_cookie(alice: Desk) -> None:
    stranger = await alice.other()

    page = await stranger.get("/queues?q=%22%3E", Sec_Fetch_Site="cross-site")

    assert 'http-equiv="refresh"' in page.text
    assert 'url=/ADMIN/queues?q=%22%3E"' in page.text
    await stranger.client.session.close()


@pytest.mark.parametrize("cookie", ["", "x", "AAAA", "é", "A" * 5_000])
def test_a_damaged_cookie_is_no_session(cookie: str) -> None:
    assert Sessions(b"k" * 32, ManualClock()).read(cookie) is None


def test_a_cookie_of_another_cluster_is_no_session() -> None:
    clock = ManualClock()
    ours, theirs = Sessions(b"a" * 32, clock), Sessions(b"b" * 32, clock)

    assert ours.read(theirs.write(theirs.begin())) is None
    assert ours.read(ours.write(ours.begin())) is not None


def test_another_node_of_the_cluster_reads_the_cookie() -> None:
    clock = ManualClock()
    session = Sessions(b"a" * 32, clock).begin()

    assert Sessions(b"a" * 32, clock).read(Sessions(b"a" * 32, clock).write(session)) == session


def test_a_session_is_written_anew_once_a_minute() -> None:
    clock = ManualClock()
    sessions = Sessions(b"a" * 32, clock)
    session = sessions.begin()
    clock.advance_ms(TOUCH_MS - 1)

    assert sessions.touched(session) is session
    clock.advance_ms(1)
    assert sessions.touched(session).seen_ms == clock.now_ms()


def test_what_the_next_page_tells_fits_into_a_cookie() -> None:
    sessions = Sessions(b"a" * 32, ManualClock())

    session = sessions.begin()
    cookie = sessions.write_flash(Flash("\U0001f600" * 70_000, key_id="AKIA", secret="s"), session)

    told = sessions.read_flash(cookie, session)
    assert len(cookie) < 4_000
    assert told is not None and told.text.endswith("…") and told.secret == "s"
