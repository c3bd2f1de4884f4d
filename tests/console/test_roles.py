"""The server enforces roles: each role tries each action of the table by a direct request, without its button."""

from __future__ import annotations

import pytest

from admin.route import Action, Page
from admin.routes import ROUTES
from admin.viewer import LOOK, MANAGE
from cqs.identity import Role
from cqs.queue import QueueName, Redrive
from cqs.service import queues
from cqs.service.policy_actions import is_in_role
from tests.console.desk import Desk
from tests.console.test_every_page import concrete
from tests.engine import ACCOUNT

ACTIONS = [route for route in ROUTES if isinstance(route, Action) and route.needs not in (None, LOOK)]
OTHER = "111122223333"


@pytest.fixture
async def people(desk: Desk) -> Desk:
    """A user of each role in the server's own account, and an administrator of another."""
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
    """Their permissions are those of the service's roles, not a separate rule."""
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
