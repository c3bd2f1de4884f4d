"""Logging in with a real browser: the first password, wrong ones, the end of a session, roles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser.eye import Eye
from tests.console.browser.world import ACCOUNT, client
from tests.needs import needs
from tests.sdk.server_process import ServerProcess

pytestmark = needs("chromium")

PASSWORD = "correct horse battery"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server without passwords. If requested before `look`, it outlives the pages."""
    running = ServerProcess(tmp_path / "data")
    running.start()
    yield running
    assert running.stop() == 0
    assert "console_failed" not in running.log


def log_in(page: Page, user: str, password: str) -> None:
    page.get_by_label("User").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def begin_as_root(eye: Eye) -> Page:
    """Adds the server's first user, and logs in."""
    page = eye.open("/users")
    page.get_by_label("Name").fill("root")
    page.get_by_label("Console password").fill(PASSWORD)
    page.get_by_role("button", name="Add user").click()
    log_in(page, "root", PASSWORD)
    expect(page.locator("h1")).to_have_text("Overview")
    return page


def test_from_the_first_password_to_the_last_key(fresh: ServerProcess, look: Callable[..., Eye]) -> None:
    eye = look(base=fresh.url)
    eye.expect("401", "403")
    page = eye.open("/")
    page.get_by_role("link", name="Set a password").click()
    page.get_by_label("Name").fill("root")
    page.get_by_label("Console password").fill(PASSWORD)
    page.get_by_role("button", name="Add user").click()
    expect(page.locator("h1")).to_have_text("Log in to CQS")
    eye.picture("light-1360/login")

    log_in(page, "root", "not it at all")
    expect(page.get_by_role("alert")).to_have_text("The user name or password is wrong.")
    log_in(page, "root", PASSWORD)
    expect(page.locator("h1")).to_have_text("Overview")
    expect(page.locator(".strip")).to_have_count(0)

    eye.open("/users")
    page.get_by_label("Name").fill("reader")
    page.get_by_label("Role").select_option("read_only")
    page.get_by_label("Console password").fill(PASSWORD)
    page.get_by_role("button", name="Add user").click()
    page.get_by_role("button", name="New key").click()
    expect(page.get_by_role("status").locator(".secret")).to_have_count(2)
    eye.picture("light-1360/key")
    page.reload()
    expect(page.locator(".secret")).to_have_count(0)

    page.locator(".who summary").click()
    page.get_by_role("button", name="Log out", exact=True).click()
    expect(page.locator("h1")).to_have_text("Log in to CQS")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Log in to CQS")

    eye.open("/login")
    log_in(page, "reader", PASSWORD)
    expect(page.locator("h1")).to_have_text("Overview")
    expect(page.get_by_role("link", name="Users and keys")).to_have_count(0)
    page.goto(f"{eye.base}/ADMIN/users")
    expect(page.locator("main")).to_contain_text("Your role (read only) does not allow ManageUsers.")


def test_what_is_typed_outlives_the_session(fresh: ServerProcess, look: Callable[..., Eye]) -> None:
    eye = look(base=fresh.url)
    eye.expect("422")
    client(fresh.url).create_queue(QueueName="orders")
    page = begin_as_root(eye)
    eye.open(f"/q/{ACCOUNT}/orders/send")
    page.get_by_label("Body").fill("written with care")
    page.context.clear_cookies(name="cqs_console")

    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Your session has ended.")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Log in in another tab").click()
    log_in(opened.value, "root", PASSWORD)
    expect(opened.value.locator("h1")).to_have_text("Overview")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("This page was out of date")
    expect(page.get_by_label("Body")).to_have_value("written with care")
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.get_by_role("status").first).to_contain_text("Sent as")


def test_a_policy_that_is_being_written_outlives_the_session(fresh: ServerProcess, look: Callable[..., Eye]) -> None:
    eye = look(base=fresh.url)
    eye.expect("401")
    client(fresh.url).create_queue(QueueName="orders")
    page = begin_as_root(eye)
    eye.open(f"/q/{ACCOUNT}/orders/policy")
    page.context.clear_cookies(name="cqs_console")
    page.get_by_label("JSON").fill('{"Statement": []}')

    expect(page.locator("#policy-check")).to_contain_text("Your session has ended.")
    expect(page.get_by_label("JSON")).to_have_value('{"Statement": []}')


def test_a_page_left_open_goes_to_the_login_when_its_session_ends(
    fresh: ServerProcess, look: Callable[..., Eye]
) -> None:
    eye = look(base=fresh.url)
    eye.expect("401")
    page = begin_as_root(eye)
    eye.open("/queues")
    page.locator("#refresh").select_option("1")
    page.context.clear_cookies(name="cqs_console")

    expect(page.locator("h1")).to_have_text("Log in to CQS")
