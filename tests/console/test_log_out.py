"""Logging out ends this session for good, on every node, and no other session."""

from __future__ import annotations

from admin.session import AGE_MS_MAX
from cqs.identity import Role
from cqs.service.sessions import ENDED_SESSIONS_MAX
from tests.console.desk import Desk


async def test_logging_out_kills_the_session_and_not_only_its_cookie(alice: Desk) -> None:
    thief = await alice.other()
    thief.client.session.cookie_jar.update_cookies({"cqs_console": alice.cookie()})
    assert await thief.is_in()

    await alice.post("/log-out")

    assert not await alice.is_in()
    assert not await thief.is_in()
    await thief.client.session.close()


async def test_logging_out_ends_no_other_session_of_the_user(alice: Desk) -> None:
    elsewhere = await alice.other()
    await elsewhere.log_in("alice")

    await alice.post("/log-out")

    assert await elsewhere.is_in()
    await elsewhere.client.session.close()


async def test_a_logged_out_cookie_is_dead_on_another_node_and_after_a_restart(alice: Desk) -> None:
    """Another console on the same store stands for both: it shares no memory with this one."""
    kept = alice.cookie()
    before = await alice.neighbour()
    before.client.session.cookie_jar.update_cookies({"cqs_console": kept})
    assert await before.is_in()

    await alice.post("/log-out")

    after = await alice.neighbour()
    after.client.session.cookie_jar.update_cookies({"cqs_console": kept})
    assert not await before.is_in()
    assert not await after.is_in()
    await before.client.close()
    await after.client.close()


async def test_logging_in_as_somebody_else_ends_the_session_before(alice: Desk) -> None:
    await alice.add_user("bob", Role.OPERATOR)
    kept = alice.cookie()

    await alice.log_in("bob")

    thief = await alice.other()
    thief.client.session.cookie_jar.update_cookies({"cqs_console": kept})
    assert not await thief.is_in()
    await thief.client.session.close()


async def test_more_log_outs_than_are_kept_end_all_sessions_of_the_user(alice: Desk) -> None:
    for number in range(ENDED_SESSIONS_MAX):
        await alice.accounts.end_session("alice", f"session {number}", alice.bench.clock.now_ms() + AGE_MS_MAX)
    assert await alice.is_in()

    await alice.accounts.end_session("alice", "one more", alice.bench.clock.now_ms() + AGE_MS_MAX)

    assert not await alice.is_in()


async def test_log_outs_are_forgotten_when_their_cookies_would_have_ended(alice: Desk) -> None:
    await alice.accounts.end_session("alice", "old", alice.bench.clock.now_ms() + 1_000)
    alice.bench.clock.advance_ms(1_000)

    await alice.accounts.end_session("alice", "new", alice.bench.clock.now_ms() + 1_000)

    (user,) = (await alice.accounts.identities()).users
    assert [one.sid for one in user.ended] == ["new"]


async def test_logging_out_everywhere_ends_every_session_of_the_user(alice: Desk) -> None:
    elsewhere = await alice.other()
    await elsewhere.log_in("alice")
    await alice.get("/")

    await alice.post("/log-out-everywhere")

    assert not await elsewhere.is_in()
    assert not await alice.is_in()
    await elsewhere.client.session.close()
