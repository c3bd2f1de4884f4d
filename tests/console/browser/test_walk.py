"""A real browser opens every page in both themes, on a desktop and on a phone: there are no errors, no requests to
other hosts, no overflow, and no serious findings of axe-core. Screenshots of all pages are kept. On the narrowest
phone only the width is checked, which does not depend on the theme."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from admin.route import Page
from admin.routes import ROUTES
from tests.console.browser.eye import DESK, NARROW, PHONE, Eye
from tests.console.browser.world import ACCOUNT
from tests.needs import needs

pytestmark = needs("chromium", "npm")

_NO_PAGES = (
    "/find",
    "/chart",
    ".csv",
    ".toml",
    ".jsonl",
    "/body",
    "/policy/try",
    "/login",
    "/reports/raw/{name:.+}",
)
PATHS = [route.path for route in ROUTES if isinstance(route, Page) and not route.path.endswith(_NO_PAGES)]
MORE = (
    "/queues?q=team3&kind=standard&full=1&sort=-oldest&rows=compact",
    "/queues?q=nothing-has-this-name",
    "/queues/sure?do=delete&chosen=orders&chosen=hostile",
    f"/q/{ACCOUNT}/orders/messages?state=in_flight",
    f"/q/{ACCOUNT}/orders/messages?state=delayed",
    f"/q/{ACCOUNT}/orders/messages?text=order&json=customer.name",
    f"/q/{ACCOUNT}/orders-dead/dead-letters",
    f"/q/{ACCOUNT}/ledger.fifo",
    f"/q/{ACCOUNT}/ledger.fifo/settings",
    f"/q/{ACCOUNT}/ledger.fifo/send",
    f"/q/{ACCOUNT}/hostile",
    f"/q/{ACCOUNT}/hostile/messages",
    f"/q/{ACCOUNT}/hostile/settings",
)


def concrete(path: str, message: str) -> str:
    """Returns the path with real names filled in; "" if there is no such thing."""
    if "{job}" in path or path in ("/moves/task", "/users/{user}"):
        return ""
    values = {"{account}": ACCOUNT, "{queue}": "orders", "{message}": message, "{name:.+}": "audit.html"}
    for name, value in values.items():
        path = path.replace(name, value)
    return path


def first_message(eye: Eye) -> str:
    """Returns the id of a message in `orders`."""
    page = eye.open(f"/q/{ACCOUNT}/orders/messages")
    return str(page.locator("input[name=chosen]").first.get_attribute("value"))


@pytest.mark.parametrize(
    ("size", "theme"),
    [(DESK, "light"), (DESK, "dark"), (PHONE, "light"), (PHONE, "dark"), (NARROW, "light")],
    ids=["desk-light", "desk-dark", "phone-light", "phone-dark", "narrow"],
)
def test_every_page(look: Callable[..., Eye], axe: str, size: tuple[int, int], theme: str) -> None:
    eye = look(size, theme)
    message = first_message(eye)
    paths = [path for path in (*(concrete(one, message) for one in PATHS), *MORE) if path]
    wrong: list[str] = []
    for path in paths:
        page = eye.open(path)
        assert page.locator("h1").count() == 1, path
        wrong += [eye.overflow()] if eye.overflow() else []
        name = path.split("?")[0].strip("/").replace("/", "-").replace(message, "message").replace(f"q-{ACCOUNT}-", "")
        variant = path.partition("?")[2].replace("=", "-").replace("&", "-")[:40]
        eye.picture(f"{theme}-{size[0]}/{name or 'overview'}{'-' + variant if variant else ''}")
        if size is not NARROW:
            wrong += eye.accessibility(axe)

    assert not wrong, "\n".join(dict.fromkeys(wrong))


def test_hostile_bodies_run_nothing(eye: Eye) -> None:
    page = eye.open(f"/q/{ACCOUNT}/hostile/messages")
    links = page.locator("tbody td.body-cell a")
    paths = [links.nth(place).get_attribute("href") for place in range(links.count())]
    assert len(paths) >= 10
    for path in paths:
        for view in ("", "?view=text", "?view=hex"):
            page.goto(f"{eye.base}{path}{view}")
            assert page.locator("pre").first.is_visible()
            assert page.locator("main script, main iframe, main img").count() == 0


def test_the_nodes_page_shows_the_files_of_the_store(eye: Eye) -> None:
    files = eye.open("/nodes").get_by_role("region", name="Store files")

    assert "messages.db-wal" in files.inner_text()


def test_without_a_script_everything_can_be_read(look: Callable[..., Eye]) -> None:
    eye = look(is_scripted=False)
    for path in (
        "/",
        "/queues",
        f"/q/{ACCOUNT}/orders",
        f"/q/{ACCOUNT}/orders/messages",
        "/nodes",
        "/users",
        "/changes",
    ):
        eye.page.goto(f"{eye.base}/ADMIN{path}")
        assert eye.page.locator("h1").is_visible()
    eye.page.goto(f"{eye.base}/ADMIN/queues?q=orders")
    eye.page.locator("tbody a", has_text="orders-dead").first.click()
    expect(eye.page.locator("h1")).to_have_text("orders-dead")
