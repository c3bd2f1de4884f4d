"""Decisions that enforced mode caches for a second never survive a change of the policy, the key, the role or the
time."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import msgspec

from cqs.api import rulings
from cqs.api.rulings import Rulings
from cqs.identity import Caller, Role
from cqs.queue import Queue
from tests.unit.people import OURS, THEIRS
from tests.unit.signed_world import URL, SignedWorld, make_signed_world, said

FINE = (200, "", "")
BOB = Caller(account=THEIRS, user="bob")
QUEUE = Queue(account=OURS, name="orders", region="us-east-1", uid=1, created_ms=0, modified_ms=0)


async def send(world: SignedWorld, user: str, peer: str = "127.0.0.1") -> tuple[int, str, str]:
    return said(await world.send(world.signed(user, "SendMessage", QueueUrl=URL, MessageBody="x"), peer))


async def allow(world: SignedWorld, **more: object) -> None:
    statement = {"Effect": "Allow", "Principal": {"AWS": THEIRS}, "Action": "sqs:*", "Resource": "*", **more}
    attributes = {"Policy": json.dumps({"Version": "2012-10-17", "Statement": [statement]})}
    assert said(await world.call("alice", "SetQueueAttributes", QueueUrl=URL, Attributes=attributes)) == FINE


async def test_new_policy_is_in_force_within_the_same_second() -> None:
    world = await make_signed_world()
    await allow(world)
    assert (await send(world, "bob"))[0] == 200

    await allow(world, Effect="Deny")

    assert (await send(world, "bob"))[1] == "QueueDoesNotExist"
    assert (await send(world, "alice"))[0] == 200


async def test_address_is_part_of_what_is_remembered() -> None:
    world = await make_signed_world()
    await allow(world, Condition={"IpAddress": {"aws:SourceIp": "192.0.2.0/24"}})

    assert (await send(world, "bob", "192.0.2.7"))[0] == 200
    assert (await send(world, "bob", "198.51.100.7"))[1] == "AccessDeniedException"


async def test_time_runs_out_with_its_second() -> None:
    world = await make_signed_world()
    clock = world.people.clock
    end = datetime.fromtimestamp(clock.now_ms() // 1_000 + 1, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    await allow(world, Condition={"DateLessThan": {"aws:CurrentTime": end}})
    assert (await send(world, "bob"))[0] == 200

    clock.advance_ms(1_000)

    assert (await send(world, "bob"))[1] == "AccessDeniedException"


async def test_role_and_key_are_dead_within_the_same_second() -> None:
    world = await make_signed_world()
    assert (await send(world, "alice"))[0] == 200

    await world.people.accounts.set_role("alice", Role.READ_ONLY)
    assert (await send(world, "alice"))[1] == "AccessDeniedException"
    await world.people.accounts.set_key_enabled("AKIAALICE", False)
    assert (await send(world, "alice"))[1] == "InvalidClientTokenId"


def test_only_the_very_same_caller_and_queue_are_known() -> None:
    kept = Rulings()
    kept.turn(1)
    kept.keep_allowed(BOB, "SendMessage", QUEUE)

    assert kept.is_allowed(BOB, "SendMessage", QUEUE)
    assert not kept.is_allowed(BOB, "PurgeQueue", QUEUE)
    assert not kept.is_allowed(msgspec.structs.replace(BOB), "SendMessage", QUEUE)
    assert not kept.is_allowed(BOB, "SendMessage", msgspec.structs.replace(QUEUE, version=1))
    kept.turn(2)
    assert not kept.is_allowed(BOB, "SendMessage", QUEUE)


def test_what_is_kept_is_bounded() -> None:
    kept = Rulings()
    for number in range(2 * rulings.KEPT_MAX + 1):
        kept.keep_allowed(BOB, f"Action{number}", QUEUE)
        kept.keep_caller(BOB, (number,), BOB)

    assert len(kept._allowed) == len(kept._callers) == 1
