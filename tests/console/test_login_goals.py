"""A login redirects to the requested page of the console, and never elsewhere."""

from __future__ import annotations

import pytest

from cqs.identity import Role
from tests.console.desk import PASSWORD, Desk


@pytest.mark.parametrize(
    "goal",
    [
        "https://evil.example/",
        "//evil.example",
        "/ADMIN//evil.example\\",
        "/ADMINX",
        "javascript:alert(1)",
        "/",
        "/ADMIN/../000000000000/orders?Action=PurgeQueue",
        "/ADMIN/queues/%2E%2e/../metrics",
        "/ADMIN/x/.%2e/.%2e/metrics",
        "/ADMIN/..?x",
    ],
)
async def test_a_login_leads_nowhere_else(desk: Desk, goal: str) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    await desk.get("/login")

    seen = await desk.post("/login", {"user": "alice", "password": PASSWORD, "next": goal}, follow=False)

    assert seen.headers["Location"] == "/ADMIN/"


async def test_a_login_leads_back_to_where_one_wanted_to_go(desk: Desk) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    page = await desk.get("/queues?q=orders", follow=False)

    assert page.headers["Location"] == "/ADMIN/login?next=%2FADMIN%2Fqueues%3Fq%3Dorders"


@pytest.mark.parametrize(
    "goal", ["/ADMIN/q/000000000000/log-lines", "/ADMIN/queues?q=/login", "/ADMIN/queues?q=a/../b", "/ADMIN/q/..a/b"]
)
async def test_a_login_leads_to_what_only_sounds_like_a_login(desk: Desk, goal: str) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    await desk.get("/login")

    seen = await desk.post("/login", {"user": "alice", "password": PASSWORD, "next": goal}, follow=False)

    assert seen.headers["Location"] == goal


@pytest.mark.parametrize("goal", ["/ADMIN/login", "/ADMIN/login?next=x", "/ADMIN/log-out", "/ADMIN/log-out-everywhere"])
async def test_a_login_does_not_lead_to_a_login(desk: Desk, goal: str) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    await desk.get("/login")

    seen = await desk.post("/login", {"user": "alice", "password": PASSWORD, "next": goal}, follow=False)

    assert seen.headers["Location"] == "/ADMIN/"
