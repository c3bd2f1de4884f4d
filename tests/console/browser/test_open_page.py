"""A page that stays open and is used while it refreshes, while its server is away, and after coming back to it: nothing
that was chosen, typed or shown is lost or applied to something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.browser.eye import PHONE, Eye
from tests.console.browser.world import ACCOUNT, make_queue, own, send
from tests.needs import needs

pytestmark = needs("chromium")

LONG = "l" * 80
FOREIGN = "<html><body><h1>Bad gateway</h1></body></html>"


@pytest.fixture
def calm(look: Callable[..., Eye]) -> Eye:
    """A tab that refreshes only when the test says so."""
    eye = look()
    eye.page.add_init_script("localStorage.setItem('cqs.refresh', '0')")
    return eye


def refresh(page: Page) -> None:
    """Refreshes the live part, and returns when the answer has come."""
    with page.expect_response(lambda answer: _is_of_live(answer.request.headers, answer.url)):
        page.evaluate("cqs.refresh()")


def _is_of_live(headers: dict[str, str], url: str) -> bool:
    return headers.get("hx-request") == "true" and "/chart" not in url


def test_the_mark_and_the_focus_stay_with_their_row(calm: Eye, sqs: Any) -> None:
    for number in (1, 2, 3):
        make_queue(sqs, f"walked-{number}")
    page = calm.open("/queues?q=walked-&sort=name")
    page.keyboard.press("j")
    page.keyboard.press("j")
    make_queue(sqs, "walked-0")
    refresh(page)

    expect(page.locator("tr[data-row]")).to_have_count(4)
    expect(page.locator("tr.at td.name > a")).to_have_text("walked-2")
    page.keyboard.press("x")
    expect(page.get_by_label("Select walked-2")).to_be_checked()
    page.get_by_label("Select walked-0").click()
    page.keyboard.press("j")
    expect(page.locator("tr.at td.name > a")).to_have_text("walked-1")


@pytest.mark.parametrize("status", [200, 403, 500, 0], ids=["a-login-page", "forbidden", "failed", "nothing"])
def test_an_answer_that_is_not_the_console_leaves_the_page_as_it_was(calm: Eye, sqs: Any, status: int) -> None:
    calm.expect("500", "403", "ERR_FAILED", "htmx:error")
    make_queue(sqs, "kept")
    page = calm.open("/queues?q=kept")
    page.get_by_label("Select kept").check()

    def answer(route: Route) -> None:
        if not _is_of_live(route.request.headers, route.request.url):
            route.fallback()
        elif status:
            route.fulfill(status=status, content_type="text/html", body=FOREIGN)
        else:
            route.abort()

    page.route("**/queues?q=kept", answer)
    page.evaluate("cqs.refresh()")
    expect(page.locator("#trouble")).to_contain_text("Not refreshed.")
    expect(page.get_by_label("Select kept")).to_be_checked()
    page.unroute("**/queues?q=kept")
    refresh(page)
    expect(page.locator("#trouble")).not_to_be_visible()
    expect(page.get_by_label("Select kept")).to_be_checked()


def test_more_rows_are_asked_for_again_and_the_keyboard_goes_on_at_them(calm: Eye, sqs: Any) -> None:
    calm.expect("500")
    url = make_queue(sqs, "piled")
    send(sqs, url, [f"hay {number}" for number in range(60)])
    page = calm.open(own("piled", "/messages"))
    page.route("**part=rows**", lambda route: route.fulfill(status=500, content_type="text/html", body=FOREIGN))
    more = page.get_by_role("link", name="Show more")
    more.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#more")).to_contain_text("Not loaded. The answer was an error (500).")
    page.unroute("**part=rows**")
    page.keyboard.press("Enter")

    expect(page.locator("tr[data-row]")).to_have_count(60)
    expect(page.locator("tr[data-row]").nth(50).locator("a").first).to_be_focused()


def test_what_is_typed_stays_while_the_server_is_away(calm: Eye, sqs: Any) -> None:
    calm.expect("ERR_FAILED")
    make_queue(sqs, "patient")
    page = calm.open(own("patient", "/send"))
    page.get_by_label("Body").fill("written with care")
    page.route("**/ADMIN/login", lambda route: route.abort())
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    expect(page.get_by_label("Body")).to_have_value("written with care")
    page.unroute("**/ADMIN/login")
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.locator(".note[role=status]").first).to_contain_text("Sent as")


def test_a_form_that_was_refused_is_not_refreshed_away(calm: Eye) -> None:
    calm.expect("422")
    page = calm.open("/queues/new")
    page.get_by_label("Name", exact=True).fill("refused")
    page.get_by_label("Retention").fill("15 d")
    page.get_by_role("button", name="Create queue").click()
    expect(page.get_by_role("alert")).to_be_visible()
    calm.wait_for_scripts()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method))
    page.locator("h1").click()
    page.keyboard.press("r")
    page.evaluate("fetch('/ADMIN/login', { method: 'HEAD' }).then(answer => answer.status)")

    assert asked[0] == "HEAD", asked
    expect(page.get_by_label("Name", exact=True)).to_have_value("refused")


def test_a_refresh_does_not_offer_again_what_is_on_its_way(calm: Eye, sqs: Any) -> None:
    make_queue(sqs, "slow-dead")
    target = {"deadLetterTargetArn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:slow-dead", "maxReceiveCount": 1}
    url = make_queue(sqs, "slow", RedrivePolicy=target)
    sqs.send_message(QueueUrl=url, MessageBody="x")
    for _ in range(2):
        sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)
    page = calm.open(own("slow-dead", "/dead-letters"))
    page.evaluate(
        "document.querySelector('form[data-select]').addEventListener('submit', event => event.preventDefault())"
    )
    button = page.get_by_role("button", name="Send all")
    button.click()
    expect(button).to_be_disabled()
    refresh(page)
    page.evaluate("new Promise(requestAnimationFrame)")

    assert button.is_disabled()


def test_coming_back_shows_the_filter_of_the_list_and_nothing_chosen(calm: Eye, sqs: Any) -> None:
    make_queue(sqs, "returned-1")
    page = calm.open("/queues?q=returned-")
    page.get_by_label("Kind").select_option("standard")
    page.wait_for_url("**kind=standard**")
    calm.wait_for_scripts()
    page.get_by_label("Select returned-1").check()
    page.get_by_role("button", name="Delete \u2026").click()
    page.wait_for_url("**/sure**")
    make_queue(sqs, "returned-0")
    page.go_back()
    expect(page.locator("tr[data-row]")).to_have_count(2)
    expect(page.locator("input[name=chosen]:checked")).to_have_count(0)
    page.go_back()
    page.wait_for_url("**/queues?q=returned-")

    expect(page.get_by_label("Kind")).to_have_value("")


def test_menus_close_by_escape_and_by_a_click_beside_them(look: Callable[..., Eye]) -> None:
    page = look(PHONE).open("/queues")
    summary, box = page.locator(".columns summary"), page.locator(".columns fieldset")
    summary.click()
    place = box.bounding_box()
    assert place is not None
    assert place["x"] >= 0
    page.keyboard.press("Escape")
    expect(box).not_to_be_visible()
    expect(summary).to_be_focused()
    summary.click()
    page.locator("h1").click()
    expect(box).not_to_be_visible()


def test_the_help_can_be_closed_each_time(calm: Eye) -> None:
    page = calm.open("/queues")
    for _ in range(2):
        page.keyboard.press("?")
        page.get_by_role("button", name="Close").click()
        expect(page.get_by_role("dialog")).not_to_be_visible()


def test_the_longest_name_fits_on_a_phone(look: Callable[..., Eye], sqs: Any) -> None:
    url = make_queue(sqs, LONG)
    identifier = sqs.send_message(QueueUrl=url, MessageBody="w" * 3_000)["MessageId"]
    eye = look(PHONE)
    for path in (own(LONG, "/send"), own(LONG, f"/messages/{identifier}"), f"/queues/sure?do=delete&chosen={LONG}"):
        eye.open(path)
        assert eye.overflow() == ""
