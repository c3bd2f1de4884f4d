"""Forged requests (CSRF): only requests of the console's own pages have an effect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from cqs import doors
from cqs.api.http.bounds import Bounds
from cqs.identity import Role
from tests.console.desk import PASSWORD, Desk
from tests.console.talk import ORDERS, there


async def log_out(desk: Desk, token: str, **headers: str) -> int:
    seen = await desk.post_raw("/log-out", [("csrf", token)], follow=False, **headers)
    return seen.status


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1:1", "file://", "http://[", ""]
)
async def test_a_post_from_another_origin_is_refused(alice: Desk, origin: str) -> None:
    assert await log_out(alice, alice.token, Origin=origin) == 403
    assert await alice.is_in()


@pytest.mark.parametrize(
    ("host", "origin", "is_ours"),
    [
        ("cqs.example", "https://cqs.example", True),
        ("cqs.example:443", "https://cqs.example", True),
        ("cqs.example:80", "http://cqs.example", True),
        ("cqs.example", "https://cqs.example:443", True),
        ("[2001:db8::1]:443", "https://[2001:db8::1]", True),
        ("cqs.example:80", "https://cqs.example", False),
        ("cqs.example:443", "http://cqs.example", False),
        ("cqs.example:8443", "https://cqs.example", False),
        ("cqs.example", "https://cqs.example:8443", False),
        ("cqs.example", "https://cqs.example:x", False),
    ],
)
async def test_a_usual_port_that_a_proxy_writes_into_host_makes_no_stranger(
    alice: Desk, host: str, origin: str, is_ours: bool
) -> None:
    assert await log_out(alice, alice.token, Host=host, Origin=origin) == (303 if is_ours else 403)


async def test_a_post_without_any_trace_of_its_page_is_refused(alice: Desk) -> None:
    assert await log_out(alice, alice.token) == 403
    assert await alice.is_in()


async def test_a_post_that_the_browser_calls_cross_site_is_refused(alice: Desk) -> None:
    assert await log_out(alice, alice.token, Origin=alice.origin, Sec_Fetch_Site="cross-site") == 403
    assert await log_out(alice, alice.token, Origin=alice.origin, Sec_Fetch_Site="same-site") == 403
    assert await alice.is_in()


async def test_a_browser_that_sends_a_referer_only_is_believed(alice: Desk) -> None:
    assert await log_out(alice, alice.token, Referer=alice.origin + "/ADMIN/queues") == 303
    assert not await alice.is_in()


@pytest.mark.parametrize("token", ["", "0" * 64, "é", "x" * 10_000])
async def test_a_missing_or_wrong_token_is_refused(alice: Desk, token: str) -> None:
    assert await log_out(alice, token, Origin=alice.origin) == 403
    assert await alice.is_in()


async def test_a_token_of_another_session_is_refused(alice: Desk) -> None:
    other = await alice.other()
    await other.log_in("alice")
    await other.get("/")

    assert await log_out(alice, other.token, Origin=alice.origin) == 403
    assert await alice.is_in()
    await other.client.session.close()


async def test_a_token_from_before_the_login_is_refused(desk: Desk) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    await desk.get("/login")
    early = desk.token
    await desk.log_in("alice")

    assert await log_out(desk, early, Origin=desk.origin) == 403
    assert await desk.is_in()


async def test_the_token_may_come_in_a_header(alice: Desk) -> None:
    seen = await alice.post_raw("/log-out", [], follow=False, Origin=alice.origin, X_CSRF_Token=alice.token)

    assert seen.status == 303
    assert not await alice.is_in()


@pytest.mark.parametrize("path", ["/log-out", "/log-out-everywhere", "/queues/create", "/users/add", "/queues/purge"])
async def test_nothing_is_done_by_get(alice: Desk, path: str) -> None:
    seen = await alice.get(path + f"?csrf={alice.token}&name=x", follow=False)

    assert seen.status in (400, 404, 405)
    assert await alice.is_in()


async def test_a_login_can_not_be_forged(desk: Desk) -> None:
    """Login CSRF: the victim is unknowingly logged in as somebody else."""
    await desk.add_user("mallory", Role.READ_ONLY)

    pairs = [("user", "mallory"), ("password", PASSWORD)]
    refused = await desk.post_raw("/login", pairs, follow=False, Origin=desk.origin)

    assert refused.status == 303
    assert refused.headers["Location"].startswith("/ADMIN/login")
    assert not await desk.is_in()


async def test_what_was_typed_on_a_page_of_an_ended_session_can_be_sent_after_a_new_login(alice: Desk) -> None:
    orders = await alice.bench.create("orders")
    await alice.get(f"{ORDERS}/send")
    of_before = alice.token
    await alice.log_in("alice")
    pairs = [("csrf", of_before), ("body", "written with care")]

    page = await alice.post_raw(f"{ORDERS}/send", pairs, follow=False, Origin=alice.origin)
    nothing = await there(alice, orders)
    await alice.post(f"{ORDERS}/send", {"body": "written with care"})

    assert (page.status, nothing) == (422, [])
    assert "This page was out of date, so nothing was done." in page.words
    assert "written with care</textarea>" in page.text
    assert len(await there(alice, orders)) == 1


@pytest.mark.parametrize(
    "body", [b"csrf=%ff", b"csrf=\xff\xfe", b"&" * 3_000, b"a=b&" * 3_000, b"csrf=" + b"x" * 300_000]
)
async def test_oversized_and_garbled_forms_are_refused(alice: Desk, body: bytes) -> None:
    headers = {"Origin": alice.origin, "Content-Type": "application/x-www-form-urlencoded"}

    answer = await alice.client.post("/ADMIN/log-out", data=body, headers=headers)

    assert answer.status in (400, 403, 413)
    assert await alice.is_in()


@pytest.mark.parametrize("content_type", ["text/plain", "multipart/form-data; boundary=x", "application/json"])
async def test_only_plain_forms_are_read(alice: Desk, content_type: str) -> None:
    headers = {"Origin": alice.origin, "Content-Type": content_type}

    answer = await alice.client.post("/ADMIN/log-out", data=f"csrf={alice.token}", headers=headers)

    assert answer.status == 400
    assert await alice.is_in()


async def test_a_form_that_only_drips_is_not_waited_for(alice: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "DEFAULT_BOUNDS", Bounds(body_grace_s=0.0, body_s_max=0.0))
    over = asyncio.Event()

    async def dripping() -> AsyncIterator[bytes]:
        yield b"csrf="
        await over.wait()

    headers = {"Origin": alice.origin, "Content-Type": "application/x-www-form-urlencoded"}
    answer = await alice.client.post("/ADMIN/log-out", data=dripping(), headers=headers)
    text = await answer.text()
    over.set()

    assert answer.status == 400
    assert "to arrive" in text
