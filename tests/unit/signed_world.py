"""A dispatcher that checks signatures and policies, two accounts with a user each, and calls that botocore signed."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from cqs.api.access import Access
from cqs.api.authenticator import Mode, access_of
from cqs.api.dispatch import Dispatcher
from cqs.api.origins import Origins
from cqs.api.request import Reply, Request
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.identity import Role
from tests.engine import Bench, make_bench
from tests.unit.people import OURS, THEIRS, People, make_people
from tests.unit.sigv4_requests import Raw, sign

USERS = {"alice": (OURS, Role.OPERATOR), "probe": (OURS, Role.READ_ONLY), "bob": (THEIRS, Role.OPERATOR)}
URL = f"http://localhost:9324/{OURS}/orders"
DEAD_ARN = f"arn:aws:sqs:us-east-1:{OURS}:dead"


@dataclass(frozen=True)
class SignedWorld:
    """Alice owns `orders`, whose dead-letter queue is `dead`. Bob belongs to another account and owns `bobs`."""

    bench: Bench
    people: People
    access: Access
    dispatcher: Dispatcher
    region: str

    async def call(self, user: str, action: str, **members: Any) -> Reply:
        """Makes a call like the SDK of a user."""
        return await self.send(self.signed(user, action, **members))

    def signed(self, user: str, action: str, **members: Any) -> Raw:
        sent = {"X-Amz-Target": f"AmazonSQS.{action}", "x-amzn-query-mode": "true"}
        sent["Content-Type"] = "application/x-amz-json-1.0"
        return self.sign(user, headers=sent, body=json.dumps(members).encode())

    def sign(self, user: str, *arguments: Any, **named: Any) -> Raw:
        now_s = self.people.clock.now_ms() // 1_000
        key = {"key_id": f"AKIA{user.upper()}", "secret": f"secret of {user}", "region": self.region}
        return sign(*arguments, at_s=now_s, **key | named)

    async def send(self, raw: Raw, peer: str = "127.0.0.1") -> Reply:
        return await self.dispatcher.dispatch(Request(raw.method, raw.target, raw.headers, raw.body, peer))


async def make_signed_world(mode: Mode = Mode.ENFORCED, **parts: Any) -> SignedWorld:
    bench = await make_bench()
    people = make_people(clock=bench.clock)
    for name, (account, role) in USERS.items():
        await people.accounts.add_user(name, account, role)
        await people.accounts.add_key(name, f"AKIA{name.upper()}", f"secret of {name}")
    access = access_of(mode, people.credentials, bench.clock, **parts)
    dispatcher = Dispatcher(bench.engine, access, RequestIds(random.Random(1)), origins=Origins(), base_urls=BaseUrls())
    world = SignedWorld(bench, people, access, dispatcher, parts.get("region", "us-east-1"))
    redrive = json.dumps({"deadLetterTargetArn": DEAD_ARN, "maxReceiveCount": 3})
    await world.call("alice", "CreateQueue", QueueName="dead")
    await world.call("alice", "CreateQueue", QueueName="orders", Attributes={"RedrivePolicy": redrive})
    await world.call("bob", "CreateQueue", QueueName="bobs")
    return world


def said(reply: Reply) -> tuple[int, str, str]:
    """Returns status, error type and message of a JSON response; "" and "" if it is not an error."""
    body = json.loads(reply.body or b"{}")
    return reply.status, body.get("__type", "").rpartition("#")[2], body.get("message", "")


def members(reply: Reply) -> dict[str, Any]:
    """Returns the members of a successful JSON response."""
    assert reply.status == 200, reply.body
    return dict(json.loads(reply.body or b"{}"))


def request_of(raw: Raw, peer: str = "127.0.0.1", **headers: str) -> Request:
    """Returns the request that a lane passes on, with headers that were added by proxies."""
    added = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request(raw.method, raw.target, [*raw.headers, *added], raw.body, peer)
