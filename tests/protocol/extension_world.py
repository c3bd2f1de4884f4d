"""Helpers to call extension actions in tests."""

from __future__ import annotations

import json
from typing import Any

from tests.protocol.world import STANDARD, World, headers_of, make_world, text_of


async def told(world: World, action: str, **members: Any) -> dict[str, Any]:
    """Returns the response of a call that must succeed. QueueUrl defaults to the standard queue."""
    reply = await world.json(action, **({"QueueUrl": STANDARD} | members))
    assert reply.status == 200, reply.body
    answer: dict[str, Any] = json.loads(reply.body)
    return answer


async def refused(world: World, action: str, **members: Any) -> tuple[str, str]:
    """Returns code and text of a call that must fail."""
    reply = await world.json(action, **({"QueueUrl": STANDARD} | members))
    assert reply.status >= 400, reply.body
    return headers_of(reply)["x-amzn-query-error"].partition(";")[0], text_of(reply.body)


async def peeked(world: World, **members: Any) -> list[str]:
    """Returns the bodies that a peek shows."""
    return [message["Body"] for message in (await told(world, "PeekMessages", **members))["Messages"]]


async def world_with(*bodies: str) -> World:
    """Makes a world whose standard queue has these messages."""
    world = await make_world()
    for body in bodies:
        await world.bench.send(world.standard, body)
        world.bench.clock.advance_ms(1)
    return world
