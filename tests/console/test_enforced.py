"""In the mode `enforced` the policies of queues hold in the console, too, for all but administrators."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest

from admin.console import About
from cqs.cache.entry import State
from cqs.identity import Role
from cqs.queue import Redrive
from cqs.service.peek import peek
from tests.console.desk import Desk, make_desk
from tests.engine import ACCOUNT

POLICY = (
    '{"Version": "2012-10-17", "Statement": [{"Sid": "no", "Effect": "Deny", "Principal": "*", "Action": "sqs:*", '
    '"Resource": "*"}]}'
)


@pytest.fixture
async def enforced() -> AsyncIterator[Desk]:
    made = await make_desk(about=About(mode="enforced"))
    queue = await made.bench.create("orders", policy=POLICY)
    await made.bench.send(queue, "one")
    for role in Role:
        await made.add_user(role.value, role)
    yield made
    await made.client.close()


async def test_in_enforced_mode_a_policy_holds_in_the_console_too(enforced: Desk) -> None:
    await enforced.log_in("operator")

    seen = await enforced.get(f"/q/{ACCOUNT}/orders/messages")

    assert seen.status == 403
    assert "explicit deny" in seen.words


async def test_who_may_not_see_a_message_does_not_see_it_in_the_form_that_resends_it(enforced: Desk) -> None:
    hidden = await enforced.bench.create("hidden", policy=POLICY.replace("sqs:*", "sqs:GetMessage"))
    await enforced.bench.send(hidden, "secret")
    (message,) = (await peek(enforced.bench.engine, hidden, State.READY)).found
    await enforced.log_in("operator")

    seen = await enforced.get(f"/q/{ACCOUNT}/hidden/messages/{message.message.message_id}/edit")

    assert seen.status == 403
    assert "secret" not in seen.text


@pytest.mark.parametrize(("role", "queues"), [("operator", ["open"]), ("administrator", ["open", "orders"])])
async def test_what_a_policy_hides_is_not_taken_away_as_a_file(enforced: Desk, role: str, queues: list[str]) -> None:
    await enforced.bench.create("open")
    await enforced.log_in(role)

    declared = tomllib.loads((await enforced.get("/queues.toml")).text)["queue"]

    assert sorted(one["name"] for one in declared) == queues


async def test_a_policy_closes_the_pages_of_a_queue_and_not_its_line_in_the_list(enforced: Desk) -> None:
    await enforced.log_in("operator")

    assert "orders" in (await enforced.get("/queues")).words
    for path in ("", "/settings", "/policy", "/messages"):
        assert (await enforced.get(f"/q/{ACCOUNT}/orders{path}")).status == 403


async def test_administrators_can_mend_a_policy_that_shuts_everybody_out(enforced: Desk) -> None:
    await enforced.log_in("administrator")
    await enforced.get("/")

    await enforced.post(f"/q/{ACCOUNT}/orders/policy", {"policy": ""})

    await enforced.log_in("operator")
    assert (await enforced.get(f"/q/{ACCOUNT}/orders/messages")).status == 200


@pytest.mark.parametrize(("network", "status"), [("127.0.0.0/8", 200), ("192.0.2.0/24", 403)])
async def test_a_policy_sees_where_the_browser_is(enforced: Desk, network: str, status: int) -> None:
    condition = f'"Condition": {{"NotIpAddress": {{"aws:SourceIp": "{network}"}}}}'
    await enforced.bench.create("guarded", policy=POLICY.replace('"Resource": "*"', f'"Resource": "*", {condition}'))
    await enforced.log_in("operator")

    assert (await enforced.get(f"/q/{ACCOUNT}/guarded/messages")).status == status


@pytest.mark.parametrize(("proxy", "status"), [("127.0.0.0/8", 200), ("192.0.2.0/24", 403)])
async def test_only_a_listed_proxy_says_that_a_browser_came_over_tls(proxy: str, status: int) -> None:
    about = About(mode="enforced", proxies=(ip_network(proxy),))
    desk = await make_desk(about=about)
    condition = '"Condition": {"Bool": {"aws:SecureTransport": "false"}}'
    await desk.bench.create("guarded", policy=POLICY.replace('"Resource": "*"', f'"Resource": "*", {condition}'))
    await desk.add_user("operator", Role.OPERATOR)
    desk.headers["X-Forwarded-For"] = "198.51.100.7"
    await desk.log_in("operator")
    desk.headers["X-Forwarded-Proto"] = "https"

    seen = await desk.get(f"/q/{ACCOUNT}/guarded/messages", Cookie=f"cqs_console={desk.cookie()}")
    await desk.client.close()

    assert seen.status == status


async def to_letters(desk: Desk) -> None:
    """`dead`, the dead-letter queue of `guarded`, to which nobody may send."""
    dead = await desk.bench.create("dead")
    policy = POLICY.replace("sqs:*", "sqs:SendMessage")
    await desk.bench.create("guarded", redrive=Redrive(dead.arn, 1), policy=policy)
    await desk.log_in("operator")
    await desk.get("/queues")


@pytest.mark.parametrize("target", ["guarded", ""])
async def test_who_may_not_send_to_a_queue_moves_no_letters_there(enforced: Desk, target: str) -> None:
    await to_letters(enforced)

    seen = await enforced.post(f"/q/{ACCOUNT}/dead/redrive", {"which": "all", "target": target})

    assert "explicit deny" in seen.words
    assert not enforced.bench.engine.moves.newest()
