"""A user at work: clicks and input have the described effect, and the keyboard alone suffices where that is
expected."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.console.browser.eye import Eye
from tests.console.browser.world import ACCOUNT, client, make_queue, own, send
from tests.needs import needs
from tests.sdk.server_process import ServerProcess

pytestmark = needs("chromium")


def flash(page: Page) -> Any:
    """Returns the page's message about what was done."""
    return page.locator(".note[role=status], .note[role=alert]").first


def test_a_queue_is_created_used_changed_purged_and_deleted(eye: Eye) -> None:
    page = eye.open("/queues")
    page.get_by_role("link", name="Create queue").click()
    page.get_by_label("Name", exact=True).fill("made-by-hand")
    page.get_by_label("Visibility timeout").fill("2 m")
    page.get_by_label("Dead-letter queue").fill("orders-dead")
    page.get_by_label("Tags").fill("stage = test")
    page.get_by_role("button", name="Create queue").click()
    expect(flash(page)).to_have_text("Queue made-by-hand was created.")

    page.get_by_role("link", name="Send", exact=True).click()
    page.get_by_label("Body").fill('{"hello": "world"}')
    page.get_by_placeholder("Name").first.fill("kind")
    page.get_by_placeholder("Value; base64 for Binary").first.fill("greeting")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("pre").first).to_contain_text('"hello": "world"')
    expect(page.locator("main")).to_contain_text("greeting")

    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Delivery delay").fill("5")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(flash(page)).to_have_text("Saved.")

    for verb, done in (("Purge", "purged"), ("Delete", "deleted")):
        end(page, "made-by-hand", verb)
        expect(flash(page)).to_have_text(f"made-by-hand will be {done} in 10 seconds.")
    page.goto(f"{eye.base}/ADMIN/queues?q=made-by-hand")
    expect(page.locator("main")).to_contain_text("No matching queues")


def end(page: Page, name: str, verb: str) -> None:
    """Follows the link "Purge …" or "Delete …" of a queue's page, and says yes."""
    page.get_by_role("link", name=f"{verb} \u2026").click()
    button = page.get_by_role("button", name=f"{verb} queue")
    expect(button).to_be_disabled()
    page.get_by_label(re.compile(f"Type {name}")).fill(name)
    button.click()


def test_a_purge_is_undone_before_it_is_made(patient: ServerProcess, look: Callable[..., Eye]) -> None:
    sqs, eye = client(patient.url), look(base=patient.url)
    url = make_queue(sqs, "spared")
    sqs.send_message(QueueUrl=url, MessageBody="x")
    page = eye.open(own("spared"))
    end(page, "spared", "Purge")
    expect(flash(page)).to_have_text("spared will be purged in 600 seconds.")
    page.locator(".strip", has_text="will be purged").get_by_role("button", name="Undo").click()

    expect(flash(page)).to_have_text("Cancelled: nothing was done.")
    expect(page.locator(".strip", has_text="will be purged")).to_have_count(0)
    assert len(sqs.receive_message(QueueUrl=url)["Messages"]) == 1


def test_changed_settings_are_put_back(eye: Eye, sqs: Any) -> None:
    url = make_queue(sqs, "regretted", VisibilityTimeout="45")
    page = eye.open(own("regretted", "/settings"))
    page.get_by_label("Visibility timeout").fill("2 m")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".strip", has_text="regretted was changed").get_by_role("button", name="Undo").click()

    expect(flash(page)).to_have_text("Restored to what it was.")
    expect(page.get_by_label("Visibility timeout")).to_have_value("45 s")
    answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])
    assert answer["Attributes"] == {"VisibilityTimeout": "45"}


def test_commands_are_copied_from_where_one_acts(eye: Eye) -> None:
    page = eye.open("/queues/sure?do=purge&chosen=orders")
    page.get_by_text("Copy as a command").click()
    for name in ("cqs", "AWS CLI", "boto3", "curl"):
        expect(page.get_by_role("button", name=f"Copy {name}")).to_be_visible()


def test_a_wrong_value_is_told_and_nothing_typed_is_lost(eye: Eye) -> None:
    eye.expect("422")
    page = eye.open("/queues/new")
    page.get_by_label("Name", exact=True).fill("wrong-one")
    page.get_by_label("Retention").fill("15 d")
    page.get_by_role("button", name="Create queue").click()

    expect(page.get_by_role("alert")).to_contain_text("Retention: 1 m to 14 d is needed")
    expect(page.get_by_label("Name", exact=True)).to_have_value("wrong-one")


def test_messages_are_found_edited_and_deleted(eye: Eye, sqs: Any) -> None:
    url = make_queue(sqs, "mended")
    for number in range(3):
        sqs.send_message(QueueUrl=url, MessageBody=f"brokne {number}")
    page = eye.open(own("mended", "/messages"))
    page.get_by_label("Body contains").fill("KNE 1")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("tbody tr[data-row]")).to_have_count(1)

    page.locator("tbody a").first.click()
    page.get_by_role("link", name="Edit and resend").click()
    page.get_by_label("Body").fill("mended")
    page.get_by_role("button", name="Resend").click()
    expect(flash(page)).to_contain_text("The original was deleted.")

    eye.open(own("mended", "/messages"))
    delete = page.get_by_role("button", name="Delete", exact=True)
    expect(delete).to_be_disabled()
    page.get_by_label("Select all shown").check()
    expect(page.locator("[data-count]")).to_have_text("3")
    delete.click()
    expect(flash(page)).to_contain_text("3 messages of mended will be deleted in 10 seconds")
    expect(page.locator("tbody tr[data-row]")).to_have_count(0)
    counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"]
    assert counts["ApproximateNumberOfMessages"] == "0"


def test_a_search_streams_until_it_has_looked_at_everything(eye: Eye, sqs: Any) -> None:
    url = make_queue(sqs, "haystack")
    send(sqs, url, ["needle" if number == 595 else f"hay {number}" for number in range(600)])

    page = eye.open(own("haystack", "/messages?text=needle"))

    expect(page.locator("tbody tr[data-row]")).to_have_count(1)
    eye.open(own("haystack", "/messages"))
    expect(page.locator("tbody tr[data-row]")).to_have_count(50)
    page.get_by_role("link", name="Show more").click()
    expect(page.locator("tbody tr[data-row]")).to_have_count(100)

    with page.expect_response("**/messages"):
        page.evaluate("cqs.refresh()")
    page.get_by_role("link", name="Show more").click()
    expect(page.locator("tbody tr[data-row]")).to_have_count(150)
    page.keyboard.press("r")
    expect(page.locator("tbody tr[data-row]")).to_have_count(50)


def test_dead_letters_go_back(eye: Eye, sqs: Any) -> None:
    make_queue(sqs, "jobs-dead")
    target = {"deadLetterTargetArn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:jobs-dead", "maxReceiveCount": 1}
    jobs = make_queue(sqs, "jobs", RedrivePolicy=target)
    for number in range(4):
        sqs.send_message(QueueUrl=jobs, MessageBody=json.dumps({"job": number}))
    for _ in range(2):
        sqs.receive_message(QueueUrl=jobs, MaxNumberOfMessages=10, VisibilityTimeout=0)

    page = eye.open(own("jobs-dead", "/dead-letters"))
    expect(page.locator("tbody tr[data-row]").first).to_contain_text("Received more than once from jobs.")
    page.locator("input[name=chosen]").first.check()
    page.get_by_role("button", name="Send 1 selected").click()
    expect(page.locator("#live h2").first).to_have_text("1 of 1 moved")
    expect(page.locator("#live .badge").first).to_have_text("done")

    eye.open(own("jobs-dead", "/dead-letters"))
    page.get_by_role("button", name="Send all").click()
    expect(page.locator(".card-head .badge")).to_have_text("done")
    eye.open(own("jobs"))
    expect(page.locator(".figure dd").first).to_have_text("4")


def test_a_policy_is_built_checked_and_tried(eye: Eye, sqs: Any) -> None:
    make_queue(sqs, "shared")
    page = eye.open(own("shared", "/policy"))
    page.get_by_label("JSON").fill('{"Statement": {"Effect": "Maybe"}}')
    expect(page.locator("#policy-check")).to_contain_text("Effect must be Allow or Deny")
    page.get_by_label("JSON").fill("")

    page.get_by_label("Label").fill("partner")
    page.get_by_label("Accounts").fill("111122223333")
    page.get_by_label("SendMessage", exact=True).check()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(flash(page)).to_have_text("partner is in effect.")

    page.get_by_label("Who").fill("111122223333/alice")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#verdict")).to_contain_text("Yes, arn:aws:iam::111122223333:user/alice may SendMessage")
    page.get_by_label("Does what").select_option("PurgeQueue")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#verdict")).to_contain_text("No.")

    page.get_by_role("button", name="Remove partner").click()
    expect(flash(page)).to_have_text("partner was removed.")


def test_queues_are_chosen_by_filter_and_deleted_together(eye: Eye, sqs: Any) -> None:
    for number in range(3):
        make_queue(sqs, f"old-{number}")
    page = eye.open("/queues?q=old-")
    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Delete \u2026").click()
    page.get_by_label(re.compile("Type delete 3 queues")).fill("delete 3 queues")
    page.get_by_role("button", name="Delete 3 queues").click()

    expect(flash(page)).to_have_text("3 queues will be deleted in 10 seconds.")


def test_the_log_tells_what_was_done(eye: Eye, sqs: Any) -> None:
    make_queue(sqs, "logged")
    page = eye.open("/queues/sure?do=delete&chosen=logged")
    page.get_by_label(re.compile("Type logged")).fill("logged")
    page.get_by_role("button", name="Delete queue").click()
    expect(flash(page)).to_have_text("logged will be deleted in 10 seconds.")

    eye.open("/changes?action=DeleteQueue&q=logged")
    expect(page.locator("tbody tr").first).to_contain_text("local")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename == "changes.csv"
