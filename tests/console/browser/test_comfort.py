"""Conveniences of the console: shortcuts, live figures, themes, saved views, templates, copying, small screens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.console.browser.eye import PHONE, Eye
from tests.console.browser.world import ACCOUNT, client, make_queue
from tests.needs import needs
from tests.sdk.server_process import ServerProcess

pytestmark = needs("chromium", "npm")


def test_the_keyboard_is_enough(eye: Eye) -> None:
    page = eye.open("/")
    page.keyboard.press("g")
    page.keyboard.press("q")
    page.wait_for_url("**/ADMIN/queues")
    eye.wait_for_scripts()
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator("tr.at")).to_have_count(1)
    expect(page.locator("tbody tr").nth(1)).to_have_class("at")
    page.keyboard.press("x")
    expect(page.locator("tbody tr").nth(1).locator("input")).to_be_checked()
    name = page.locator("tr.at a").first.inner_text()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(name)
    eye.wait_for_scripts()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("orders-d")
    expect(page.locator("#found a").first).to_contain_text("orders-dead")
    page.keyboard.press("Enter")
    page.wait_for_url("**/queues?q=orders-d")


def test_figures_are_live_and_what_is_selected_stays_selected(eye: Eye, sqs: Any) -> None:
    url = make_queue(sqs, "living")
    page = eye.open("/queues?q=living")
    page.get_by_label("Select living").check()
    expect(page.locator("tbody tr")).to_contain_text("living")
    sqs.send_message(QueueUrl=url, MessageBody="x")
    page.locator("#refresh").select_option("1")

    expect(page.locator("tbody td.right").first).to_have_text("1")
    expect(page.get_by_label("Select living")).to_be_checked()
    expect(page.locator("[data-count]").first).to_have_text("1")
    page.reload()
    expect(page.locator("#refresh")).to_have_value("1")


def test_refreshing_can_be_switched_off(eye: Eye) -> None:
    page = eye.open("/queues")
    page.locator("#refresh").select_option("0")
    page.evaluate("window.wanted = 0; document.body.addEventListener('refresh', () => { window.wanted += 1; })")
    page.wait_for_timeout(1_500)

    assert page.evaluate("window.wanted") == 0


def test_a_page_with_a_form_does_not_refresh_itself(eye: Eye) -> None:
    page = eye.open("/queues/new")

    expect(page.locator("#refresh")).not_to_be_visible()


def test_charts_are_drawn(eye: Eye) -> None:
    page = eye.open(f"/q/{ACCOUNT}/orders")

    expect(page.locator(".chart canvas")).to_have_count(8)
    expect(page.locator(".chart .legend").first).to_contain_text("sent")
    for name in ("median", "99-percent"):
        expect(page.locator(f"#chart-server-time-{name} .legend")).to_contain_text("receive")


def test_a_theme_chosen_by_hand_stays(eye: Eye) -> None:
    page = eye.open("/")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Light or dark").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()

    assert light != dark
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_a_view_is_saved_and_forgotten(eye: Eye) -> None:
    page = eye.open("/queues?q=team3&sort=-oldest")
    page.get_by_role("button", name="Save this view").click()
    page.goto(f"{eye.base}/ADMIN/")
    page.locator("#views a").click()
    expect(page).to_have_url(f"{eye.base}/ADMIN/queues?q=team3&sort=-oldest")
    page.locator("#views button").click()
    expect(page.locator("#views")).not_to_be_visible()


def test_a_saved_view_leads_nowhere_else(eye: Eye) -> None:
    page = eye.open("/")
    page.evaluate(
        """localStorage.setItem("cqs.views", JSON.stringify([
            {name: "<img src=x onerror=alert(1)>", path: "javascript:alert(1)"},
            {name: "<b>x</b>", path: "https://evil.example/ADMIN/"}, null, 5,
            {name: "fine", path: "/ADMIN/queues"}]))"""
    )
    page.reload()

    expect(page.locator("#views a")).to_have_count(1)


def test_templates_of_messages_are_kept_in_the_browser(eye: Eye) -> None:
    page = eye.open(f"/q/{ACCOUNT}/orders/send")
    page.get_by_label("Body").fill("a body")
    page.get_by_role("button", name="Attribute").click()
    expect(page.locator(".attribute")).to_have_count(4)
    page.locator("[name=attribute_name]").nth(3).fill("fourth")
    page.locator("#template-name").fill("mine")
    page.get_by_role("button", name="Save this message").click()
    page.reload()
    page.get_by_role("button", name="mine", exact=True).click()

    expect(page.get_by_label("Body")).to_have_value("a body")
    expect(page.locator("[name=attribute_name]").nth(3)).to_have_value("fourth")


@pytest.mark.parametrize("has_clipboard", [True, False])
def test_copying_works_with_and_without_the_clipboard_of_https(eye: Eye, has_clipboard: bool) -> None:
    page = eye.page
    page.add_init_script(
        "window.copied = []; Object.defineProperty(navigator, 'clipboard', {value: "
        + ("{writeText: async text => { window.copied.push(text); }}" if has_clipboard else "undefined")
        + "}); document.execCommand = name => { window.copied.push(document.activeElement.value); return true; };"
    )
    eye.open(f"/q/{ACCOUNT}/orders")
    page.get_by_role("button", name="Copy the ARN").click()

    page.wait_for_function("() => window.copied.length === 1")
    assert page.evaluate("window.copied") == [f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders"]


def test_a_phone_has_a_menu(look: Callable[..., Eye]) -> None:
    eye = look(PHONE)
    page = eye.open("/queues")
    expect(page.get_by_role("link", name="Dead letters")).not_to_be_visible()
    page.locator(".menu summary").click()
    page.get_by_role("link", name="Dead letters", exact=True).click()

    expect(page.locator("h1")).to_have_text("Dead letters")


def test_a_form_is_sent_once_however_often_one_clicks(eye: Eye, sqs: Any) -> None:
    make_queue(sqs, "once")
    page = eye.open(f"/q/{ACCOUNT}/once/send")
    page.get_by_label("Body").fill("x")
    page.get_by_role("button", name="Send", exact=True).dblclick()
    page.wait_for_url("**/messages/**")

    eye.open(f"/q/{ACCOUNT}/once")
    expect(page.locator(".figure dd").first).to_have_text("1")


def test_columns_are_chosen_and_remembered(eye: Eye) -> None:
    page = eye.open("/queues")
    heads = page.locator("thead th")
    expect(heads.filter(has_text="Delayed")).to_have_count(1)

    page.locator(".columns summary").click()
    page.get_by_label("Delayed", exact=True).uncheck()
    expect(heads.filter(has_text="Delayed")).to_have_count(0)

    eye.open("/queues?q=orders")
    expect(heads.filter(has_text="Ready")).to_have_count(1)
    expect(heads.filter(has_text="Delayed")).to_have_count(0)


def test_the_first_queue_brings_the_charts_by_itself(look: Callable[..., Eye], axe: str, tmp_path: Path) -> None:
    running = ServerProcess(tmp_path / "data")
    running.start()
    eye = look(base=running.url)
    page = eye.open("/")
    page.get_by_text("Create a queue and send a message through it from the command line").click()
    expect(page.get_by_role("button", name="Copy cqs")).to_be_visible()
    assert eye.accessibility(axe) == []
    eye.picture("welcome")

    make_queue(client(running.url), "hello")
    page.locator("#refresh").select_option("1")
    expect(page.locator(".chart canvas")).to_have_count(6)
    expect(page.locator("main")).not_to_contain_text("Welcome to CQS")
    eye.page.close()
    assert running.stop() == 0, running.log
