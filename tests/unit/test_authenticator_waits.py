"""A waiting receive gets nothing that a new receive would not be allowed to get by then."""

from __future__ import annotations

import asyncio
import json

import pytest

from cqs.api.request import Reply
from cqs.identity import Role
from cqs.queue import Queue
from cqs.service import queues
from cqs.service.credentials import STALE_MS_MAX
from tests.engine import until
from tests.unit.people import THEIRS
from tests.unit.signed_world import URL, SignedWorld, make_signed_world, members, said


async def waiting(world: SignedWorld, user: str = "alice") -> asyncio.Task[Reply]:
    call = asyncio.create_task(world.call(user, "ReceiveMessage", QueueUrl=URL, WaitTimeSeconds=20))
    await until(lambda: len(world.bench.engine.waiters) == 1)
    return call


def orders(world: SignedWorld) -> Queue:
    return next(one for one in world.bench.engine.registry if one.name == "orders")


async def ended(world: SignedWorld, call: asyncio.Task[Reply]) -> str:
    """Sends a message that the call must not take, and returns the call's error."""
    await world.bench.send(orders(world), "secret")
    reply = await call
    assert b"secret" not in reply.body
    assert (await world.bench.counts(orders(world))).ready == 1
    return said(reply)[1]


@pytest.mark.parametrize("change", ["key", "user", "dropped", "role"])
async def test_of_a_caller_who_may_not_any_more(change: str) -> None:
    world = await make_signed_world()
    accounts = world.people.accounts
    call = await waiting(world)
    if change == "key":
        await accounts.set_key_enabled("AKIAALICE", False)
    elif change == "user":
        await accounts.set_user_enabled("alice", False)
    elif change == "dropped":
        await accounts.drop_key("AKIAALICE")
    else:
        await accounts.set_role("alice", Role.READ_ONLY)

    code = await ended(world, call)

    assert code == ("AccessDeniedException" if change == "role" else "InvalidClientTokenId")


async def test_of_another_account_that_a_policy_let_in() -> None:
    world = await make_signed_world()
    let_in = {"Label": "bob", "AWSAccountIds": [THEIRS], "Actions": ["ReceiveMessage"]}
    members(await world.call("alice", "AddPermission", QueueUrl=URL, **let_in))
    call = await waiting(world, "bob")

    members(await world.call("alice", "RemovePermission", QueueUrl=URL, Label="bob"))

    assert await ended(world, call) == "QueueDoesNotExist"


async def test_of_another_account_that_a_policy_let_in_until_now() -> None:
    world = await make_signed_world()
    until_s = world.people.clock.now_ms() // 1_000 + 3
    let_in = {"Effect": "Allow", "Principal": {"AWS": THEIRS}, "Action": "SQS:ReceiveMessage", "Resource": "*"}
    let_in["Condition"] = {"NumericLessThan": {"aws:EpochTime": str(until_s)}}
    policy = {"Policy": json.dumps({"Version": "2012-10-17", "Statement": [let_in]})}
    members(await world.call("alice", "SetQueueAttributes", QueueUrl=URL, Attributes=policy))
    call = await waiting(world, "bob")

    world.people.clock.advance_ms(3_000)

    assert await ended(world, call) == "AccessDeniedException"


async def test_of_a_node_that_does_not_know_the_keys_any_more() -> None:
    world = await make_signed_world()
    call = await waiting(world)

    world.people.clock.advance_ms(STALE_MS_MAX + 1)

    assert await ended(world, call) == "ServiceUnavailableException"


async def test_a_queue_that_was_only_changed_is_waited_at_further() -> None:
    world = await make_signed_world()
    call = await waiting(world)

    await queues.change_settings(world.bench.engine, orders(world), {"visibility_ms": 1_000})
    await world.bench.send(orders(world), "open")

    assert json.loads((await call).body)["Messages"][0]["Body"] == "open"
