"""Who has access before there is a password, and which requests are trusted."""

from __future__ import annotations

from ipaddress import ip_network
from urllib.parse import urljoin

import pytest
from multidict import CIMultiDict

from admin.action_log import Question
from admin.console import About
from admin.headers import POLICY
from cqs.identity import Role
from cqs.proxies import Network
from tests.console.desk import PASSWORD, Desk, make_desk


async def test_without_a_password_this_machine_gets_in_and_sees_a_banner(desk: Desk) -> None:
    page = await desk.get("/")

    assert page.status == 200
    assert "No password yet." in page.words
    assert "Mode: open" in page.words


@pytest.mark.parametrize("host", ["evil.example", "evil.example:9324", "127.0.0.1.evil.example", "10.0.0.1", ""])
async def test_without_a_password_a_foreign_name_of_this_machine_is_refused(desk: Desk, host: str) -> None:
    page = await desk.get("/", Host=host)

    assert page.status in (400, 403)
    assert "Overview" not in page.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:9324", "a.localhost"])
async def test_without_a_password_every_name_of_this_machine_is_fine(desk: Desk, host: str) -> None:
    assert (await desk.get("/", Host=host)).status == 200


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host", "X-Forwarded-Proto"]
)
async def test_without_a_password_a_proxy_on_this_machine_lets_nobody_in(desk: Desk, header: str) -> None:
    desk.headers[header] = "203.0.113.9"

    page = await desk.get("/")

    assert page.status == 403
    assert "until a user has a password" in page.words


async def test_with_a_password_any_host_name_is_fine_and_nobody_is_in(desk: Desk) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)

    page = await desk.get("/", Host="queues.example")

    assert page.path == "/ADMIN/login"
    assert "Overview" not in page.words


@pytest.mark.parametrize(
    "path", ["/", "/queues", "/users", "/q/000000000000/orders", "/changes", "/nodes", "/nothing", "/queues.csv"]
)
async def test_nobody_sees_nothing(desk: Desk, path: str) -> None:
    await desk.bench.create("orders")
    await desk.add_user("alice", Role.ADMINISTRATOR)

    page = await desk.get(path, follow=False)

    assert page.status == 303
    assert page.headers["Location"].startswith("/ADMIN/login")
    assert "orders" not in page.text


@pytest.mark.parametrize("path", ["/", "/login", "/nothing", "/static/console.css", "/static/../app.py"])
async def test_every_answer_is_locked_up(desk: Desk, path: str) -> None:
    page = await desk.get(path)

    assert page.headers["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["Referrer-Policy"] == "same-origin"
    assert page.headers["X-Frame-Options"] == "DENY"


async def test_pages_are_not_kept_and_cookies_are_out_of_reach(desk: Desk) -> None:
    page = await desk.get("/")

    assert page.headers["Cache-Control"] == "no-store"
    cookie = page.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/ADMIN" in cookie


@pytest.mark.parametrize("told", ["https", "HTTPS, http"])
async def test_over_tls_the_cookie_never_travels_in_the_clear(desk: Desk, told: str) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)

    page = await desk.get("/login", X_Forwarded_Proto=told)

    assert "Secure" in page.headers["Set-Cookie"]


@pytest.mark.parametrize("told", ["https", "http"])
async def test_a_listed_proxy_is_believed_for_the_cookie_where_strangers_are_not(told: str) -> None:
    desk = await make_desk(about=About(proxies=LOCAL_PROXY, is_forwarded_trusted=False))
    await desk.add_user("alice", Role.ADMINISTRATOR)

    page = await desk.get("/login", X_Forwarded_Proto=told)

    await desk.client.close()
    assert ("Secure" in page.headers["Set-Cookie"]) == (told == "https")


@pytest.mark.parametrize(
    "name",
    [
        "../app.py",
        "..%2fapp.py",
        "%2e%2e/%2e%2e/app.py",
        "vendor/../../app.py",
        "/etc/passwd",
        "..\\app.py",
        "console.css%00.js",
        "vendor",
        "",
        ".",
        "templates/layout.html",
    ],
)
async def test_no_path_leads_out_of_the_static_folder(desk: Desk, name: str) -> None:
    page = await desk.get("/static/" + name)

    assert page.status == 404
    assert "import" not in page.text


async def test_a_behind_a_prefix_every_link_carries_it(desk: Desk) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)

    page = await desk.get("/login", X_Forwarded_Prefix="/tools/cqs")

    assert 'action="/tools/cqs/ADMIN/login"' in page.text
    assert "/tools/cqs/ADMIN/static/console.css" in page.text
    assert "Path=/tools/cqs/ADMIN" in page.headers["Set-Cookie"]


async def test_whoever_types_the_bare_path_stays_behind_the_prefix(desk: Desk) -> None:
    page = await desk.get("", follow=False)

    assert page.status == 308
    assert urljoin("https://example/tools/cqs/ADMIN", page.headers["Location"]) == "https://example/tools/cqs/ADMIN/"


@pytest.mark.parametrize("prefix", ["//evil.example", '/"><script>', "javascript:", "/a b", "https://evil.example"])
async def test_a_hostile_prefix_is_not_believed(desk: Desk, prefix: str) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)

    page = await desk.get("/login", X_Forwarded_Prefix=prefix)

    assert 'action="/ADMIN/login"' in page.text
    assert "evil" not in page.text


LOCAL_PROXY = (ip_network("127.0.0.0/8"), ip_network("10.0.0.0/8"))


@pytest.mark.parametrize(
    ("proxies", "told", "address"),
    [
        ((), "203.0.113.9", "127.0.0.1"),
        (LOCAL_PROXY, "203.0.113.9", "203.0.113.9"),
        (LOCAL_PROXY, "198.51.100.1, 203.0.113.9, 10.1.1.1", "203.0.113.9"),
        (LOCAL_PROXY, "", "127.0.0.1"),
        (LOCAL_PROXY, "nonsense", ""),
        (LOCAL_PROXY, "203.0.113.9, , 10.1.1.1", ""),
        (LOCAL_PROXY, "::ffff:203.0.113.9", "203.0.113.9"),
    ],
)
async def test_only_listed_proxies_say_for_whom_they_ask(proxies: tuple[Network, ...], told: str, address: str) -> None:
    desk = await make_desk(about=About(proxies=proxies))
    await desk.add_user("alice", Role.ADMINISTRATOR)
    desk.headers["X-Forwarded-For"] = told

    await desk.log_in("alice")

    await desk.client.close()
    lines, _ = await desk.console.actions.find(Question(), 1)
    assert lines[0].address == address


async def test_a_line_that_a_client_forged_before_that_of_its_proxy_hides_nobody() -> None:
    """HAProxy adds its own header line and keeps the client's."""
    desk = await make_desk(about=About(proxies=LOCAL_PROXY))
    await desk.add_user("alice", Role.ADMINISTRATOR)
    forged = [("X-Forwarded-For", f"198.51.100.{number}") for number in range(6)]
    statuses = []
    for line in forged:
        await desk.get("/login")
        fields = [("csrf", desk.token), ("user", "alice"), ("password", "wrong password")]
        headers = [line, ("X-Forwarded-For", "203.0.113.9"), ("Origin", desk.origin)]
        answer = await desk.client.post("/ADMIN/login", data=fields, headers=CIMultiDict(headers))
        statuses.append(answer.status)

    await desk.client.close()
    assert statuses == [401] * 5 + [429]


@pytest.mark.parametrize(
    ("about", "host", "origin", "is_fine"),
    [
        (About(), "queues.example", "https://queues.example", False),
        (About(proxies=LOCAL_PROXY), "queues.example", "https://queues.example", True),
        (About(proxies=LOCAL_PROXY), "queues.example", "https://evil.example", False),
        (About(public_url="https://queues.example"), "", "https://queues.example", True),
        (About(public_url="https://queues.example"), "", "https://queues.example:8443", False),
    ],
)
async def test_a_proxy_that_changes_the_host_needs_to_be_listed(
    about: About, host: str, origin: str, is_fine: bool
) -> None:
    desk = await make_desk(about=about)
    await desk.add_user("alice", Role.ADMINISTRATOR)
    await desk.get("/login")
    pairs = [("csrf", desk.token), ("user", "alice"), ("password", PASSWORD)]

    seen = await desk.post_raw("/login", pairs, follow=False, Origin=origin, X_Forwarded_Host=host)

    await desk.client.close()
    assert seen.status == (303 if is_fine else 403)
