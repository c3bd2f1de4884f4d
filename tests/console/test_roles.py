"""Roles are honoured by the server: each action of the table, tried by each role, by hand and without its button."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest

from admin.console import About
from admin.route import Action, Page
from admin.routes import ROUTES
from admin.viewer import LOOK, MANAGE
from cqs.identity import Role
from cqs.queue import QueueName, Redrive
from cqs.service import queues
from cqs.service.policy_actions import is_in_role
from tests.console.desk import Desk, make_desk
from tests.console.test_every_page import concrete
from tests.engine import ACCOUNT

ACTIONS = [route for route in ROUTES if isinstance(route, Action) and route.needs not in (None, LOOK)]
OTHER = "111122223333"
POLICY = (
    '{"Version": "2012-10-17", "Statement": [{"Sid": "no", "Effect": "Deny", "Principal": "*", "Action": "sqs:*", '
    '"Resource": "*"}]}'
)


@pytest.fixture
async def people(desk: Desk) -> Desk:
    """One of each role in the server's own account, and an administrator of another."""
    queue = await desk.bench.create("orders")
    await desk.bench.send(queue, "one")
    for role in Role:
        await desk.add_user(role.value, role)
    await desk.add_user("stranger", Role.ADMINISTRATOR, OTHER)
    return desk


async def state_of(desk: Desk) -> object:
    everybody = await desk.accounts.identities()
    queues = [(queue, await desk.bench.counts(queue)) for queue in desk.bench.engine.registry]
    return queues, everybody


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.path)
async def test_read_only_users_change_nothing(people: Desk, action: Action) -> None:
    await people.log_in("read_only")
    await people.get("/")
    before = await state_of(people)

    seen = await people.post(concrete(action.path, "x"), {"chosen": "orders", "typed": "orders", "name": "new"})

    assert seen.status == 403
    assert "Your role (read only) does not allow" in seen.words
    assert await state_of(people) == before


@pytest.mark.parametrize(
    "action", [action for action in ACTIONS if action.needs == MANAGE], ids=lambda action: action.path
)
async def test_operators_manage_nobody(people: Desk, action: Action) -> None:
    await people.log_in("operator")
    await people.get("/")
    before = await state_of(people)

    seen = await people.post(concrete(action.path, "x"), {"name": "new", "password": "long enough", "typed": "alice"})

    assert seen.status == 403
    assert await state_of(people) == before


@pytest.mark.parametrize("path", ["/users", "/users/operator", "/changes", "/changes.csv", "/changes.jsonl"])
@pytest.mark.parametrize("role", [Role.READ_ONLY, Role.OPERATOR])
async def test_only_administrators_see_users_and_changes(people: Desk, path: str, role: Role) -> None:
    await people.log_in(role.value)

    assert (await people.get(path)).status == 403


async def test_operators_may_all_else(people: Desk) -> None:
    """What they may is the service's rule for roles, not another one."""
    for action in ACTIONS:
        needs = action.needs or ""
        if needs != MANAGE:
            assert is_in_role(Role.OPERATOR, needs)
            assert not is_in_role(Role.READ_ONLY, needs), f"{action.path} would be open to read-only users"


async def test_buttons_that_would_be_refused_are_not_shown(people: Desk) -> None:
    await people.log_in("read_only")

    page = await people.get(f"/q/{ACCOUNT}/orders")

    assert page.status == 200
    assert "Purge \u2026" not in page.words
    assert "Users and keys" not in page.words


@pytest.mark.parametrize(
    "route",
    [route for route in ROUTES if "{queue}" in route.path],
    ids=lambda route: f"{type(route).__name__} {route.path}",
)
async def test_queues_of_another_account_do_not_exist(people: Desk, route: Page | Action) -> None:
    await people.log_in("stranger")
    await people.get("/")
    before = await state_of(people)
    path = concrete(route.path, "x")

    seen = await (people.get(path) if isinstance(route, Page) else people.post(path, {"which": "all", "do": "delete"}))

    assert seen.status in (404, 422) or "does not exist" in seen.words
    assert "one" not in seen.words.split()
    assert await state_of(people) == before


async def test_lists_show_only_the_own_account(people: Desk) -> None:
    await people.log_in("stranger")

    for path in ("/queues", f"/queues?account={ACCOUNT}", "/", f"/find?q=ord&account={ACCOUNT}", "/queues.csv"):
        assert "orders" not in (await people.get(path)).text, path


async def test_administrators_of_another_account_manage_only_its_users(people: Desk) -> None:
    await people.log_in("stranger")
    await people.get("/")

    assert "operator" not in (await people.get("/users")).words.split("Add a user")[0].split("Users and keys")[-1]
    assert (await people.get("/users/operator")).status == 404
    assert (await people.post("/users/operator/password", {"password": "long enough"})).status == 404
    refused = await people.post("/users/add", {"name": "spy", "account": ACCOUNT, "role": "administrator"})
    assert refused.status == 422
    made = await people.post("/users/add", {"name": "helper", "account": OTHER, "role": "operator"})
    assert made.status == 200
    assert {user.name for user in (await people.accounts.identities()).users} >= {"helper"}


async def test_administrators_of_the_home_account_see_all_accounts(people: Desk) -> None:
    await people.log_in("administrator")

    page = await people.get(f"/users?account={OTHER}")

    assert "stranger" in page.words


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


@pytest.mark.parametrize(("role", "queues"), [("operator", ["open"]), ("administrator", ["open", "orders"])])
async def test_what_a_policy_hides_is_not_taken_away_as_a_file(enforced: Desk, role: str, queues: list[str]) -> None:
    await enforced.bench.create("open")
    await enforced.log_in(role)

    declared = tomllib.loads((await enforced.get("/queues.toml")).text)["queue"]

    assert sorted(one["name"] for one in declared) == queues


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
    """`dead`, whose letters come from `guarded`, to which nobody may send."""
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


async def test_letters_can_not_find_out_what_queues_others_have(people: Desk) -> None:
    dead = await queues.create(people.bench.engine, QueueName(OTHER, "dead"), {}, {})
    await queues.create(people.bench.engine, QueueName(OTHER, "source"), {"redrive": Redrive(dead.arn, 1)}, {})
    await people.log_in("stranger")
    await people.get("/")
    told = []
    for name in ("orders", "nowhere"):
        target = f"arn:aws:sqs:us-east-1:{ACCOUNT}:{name}"
        seen = await people.post(f"/q/{OTHER}/dead/redrive", {"which": "all", "target": target})
        told.append("there is no such queue" in seen.words)

    assert told == [True, True]
