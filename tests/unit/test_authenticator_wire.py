"""Rejected signatures as clients see them, in both protocols, and calls by presigned URL."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from cqs.api.request import Reply
from tests.unit.signed_world import URL, make_signed_world, members, said
from tests.unit.sigv4_requests import Raw, edited, replaced

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SPOILT: dict[str, tuple[Callable[[Raw], Raw], int]] = {
    "MissingAuthenticationToken": (lambda raw: replaced(raw, b"Authorization", None), 403),
    "IncompleteSignature": (lambda raw: edited(raw, b"Signature=", b"Sig="), 400),
    "SignatureDoesNotMatch": (lambda raw: replaced(raw, b"Host", b"elsewhere"), 403),
    "InvalidClientTokenId": (lambda raw: edited(raw, b"AKIAALICE", b"AKIAMALLORY"), 403),
}


def header(reply: Reply, name: bytes) -> bytes:
    return next((value for key, value in reply.headers if key.lower() == name), b"")


@pytest.mark.parametrize("code", SPOILT)
async def test_refusal_in_json_has_code_type_and_status(code: str) -> None:
    world = await make_signed_world()
    spoil, status = SPOILT[code]

    reply = await world.send(spoil(world.signed("alice", "ListQueues")))

    assert said(reply)[:2] == (status, code)
    assert header(reply, b"x-amzn-query-error") == f"{code};Sender".encode()


@pytest.mark.parametrize("code", SPOILT)
async def test_refusal_of_a_form_has_code_and_status(code: str) -> None:
    world = await make_signed_world()
    spoil, status = SPOILT[code]

    reply = await world.send(spoil(world.sign("alice", headers=FORM, body=b"Action=ListQueues")))

    assert reply.status == status
    assert f"<Code>{code}</Code>".encode() in reply.body


async def test_expired_request_is_told_so() -> None:
    world = await make_signed_world()
    raw = world.signed("alice", "ListQueues")
    world.people.clock.advance_ms(901_000)
    await world.people.credentials.refresh()

    status, kind, text = said(await world.send(raw))

    assert (status, kind) == (403, "SignatureDoesNotMatch")
    assert text.startswith("Signature expired: ")


async def test_refused_request_does_nothing_and_shows_no_secret() -> None:
    world = await make_signed_world()
    before = list(world.bench.engine.registry)
    raw = world.signed("alice", "DeleteQueue", QueueUrl=URL)

    for spoil, _ in SPOILT.values():
        reply = await world.send(spoil(raw))
        assert b"secret of alice" not in reply.body and b"Signature=" not in reply.body
    assert list(world.bench.engine.registry) == before


async def test_signed_form_is_served() -> None:
    world = await make_signed_world()

    reply = await world.send(world.sign("alice", headers=FORM, body=b"Action=ListQueues&Version=2012-11-05"))

    assert reply.status == 200 and URL.encode() in reply.body


async def test_presigned_url_sends_a_message() -> None:
    world = await make_signed_world()
    url = f"{URL}?Action=SendMessage&Version=2012-11-05&MessageBody=a%20b"
    raw = world.sign("alice", "GET", url, body=b"{}", expires_s=60)

    assert (await world.send(raw)).status == 200
    (message,) = members(await world.call("alice", "ReceiveMessage", QueueUrl=URL))["Messages"]
    assert message["Body"] == "a b"


async def test_presigned_url_can_not_be_bent_to_another_action_by_header_or_body() -> None:
    world = await make_signed_world()
    raw = world.sign("alice", "GET", f"{URL}?Action=GetQueueUrl&QueueName=orders", body=b"{}", expires_s=60)
    assert (await world.send(raw)).status == 200

    bent = [
        raw._replace(method=b"POST", body=b"Action=PurgeQueue"),
        raw._replace(method=b"POST", headers=[*raw.headers, (b"X-Amz-Target", b"AmazonSQS.PurgeQueue")]),
        raw._replace(target=raw.target.replace(b"GetQueueUrl", b"PurgeQueue")),
        raw._replace(target=raw.target + b"&Action=PurgeQueue"),
    ]
    for one in bent:
        assert b"SignatureDoesNotMatch" in (await world.send(one)).body


async def test_region_of_the_signature_must_be_the_servers_when_it_has_one() -> None:
    world = await make_signed_world(region="eu-west-1")
    here, elsewhere = (
        world.sign("alice", headers=FORM, body=b"Action=ListQueues", region=region)
        for region in ("eu-west-1", "us-east-1")
    )

    assert (await world.send(here)).status == 200
    assert (await world.send(elsewhere)).status == 403


async def test_bad_policy_is_refused_with_the_reason_when_it_is_set() -> None:
    world = await make_signed_world()
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow"}]})

    answer = said(await world.call("alice", "SetQueueAttributes", QueueUrl=URL, Attributes={"Policy": policy}))

    assert answer[:2] == (400, "InvalidAttributeValue")
    assert answer[2].startswith("Invalid value for the parameter Policy. Reason: a statement must have exactly one of")
