"""Open mode: which account a request belongs to if credentials are not checked."""

from __future__ import annotations

import json

import pytest

from cqs.api.access import CALLERS_KEPT_MAX, OpenAccess
from cqs.api.request import Request, head_of
from tests.protocol.world import FORM, HOST, json_request, make_world

SIGNED = "AWS4-HMAC-SHA256 Credential={}/20261127/eu-west-1/sqs/aws4_request, SignedHeaders=host, Signature=0"


def account_of(request: Request) -> str:
    return OpenAccess().authenticate(request, head_of(request.headers)).account


def signed(key: str) -> Request:
    return json_request("ListQueues", b"{}", (b"Authorization", SIGNED.format(key).encode()))


@pytest.mark.parametrize(
    ("key", "account"),
    [
        ("111122223333", "111122223333"),
        ("test", "000000000000"),
        ("AKIAIOSFODNN7EXAMPLE", "000000000000"),
        ("1111222233334", "000000000000"),
        ("\u0661" * 12, "000000000000"),
        ("", "000000000000"),
    ],
)
def test_access_key_of_twelve_digits_names_the_account(key: str, account: str) -> None:
    assert account_of(signed(key)) == account


@pytest.mark.parametrize("text", [b"", b"garbage", b"Basic eDp5", b"AWS4-HMAC-SHA256", b"Credential=", b"\xff" * 100])
def test_garbage_is_the_default_account(text: bytes) -> None:
    assert account_of(json_request("ListQueues", b"{}", (b"Authorization", text))) == "000000000000"


@pytest.mark.parametrize("name", [b"X-Amz-Credential", b"AWSAccessKeyId"])
def test_access_key_may_stand_in_the_url_or_the_form(name: bytes) -> None:
    given = name + b"=111122223333%2F20261127"
    host = (b"Host", HOST.encode())

    assert account_of(Request(b"GET", b"/?Action=ListQueues&" + given, [host])) == "111122223333"
    assert account_of(Request(b"POST", b"/", [host, (b"Content-Type", FORM)], given)) == "111122223333"


def test_body_of_a_message_names_nobody() -> None:
    assert account_of(json_request("SendMessage", b'{"MessageBody":"&AWSAccessKeyId=111122223333"}')) == "000000000000"


def test_sender_is_stable_for_an_account_and_its_own() -> None:
    first, again = OpenAccess(), OpenAccess()
    one, two = signed("111122223333"), signed("444455556666")

    sender = first.authenticate(one, head_of(one.headers)).sender_id

    assert sender == again.authenticate(one, head_of(one.headers)).sender_id
    assert sender != first.authenticate(two, head_of(two.headers)).sender_id
    assert sender.startswith("AIDA")


def test_unknown_keys_are_not_kept_without_bound() -> None:
    access = OpenAccess()
    for number in range(CALLERS_KEPT_MAX + 100):
        request = signed(f"{number:012d}")
        assert access.authenticate(request, head_of(request.headers)).account == f"{number:012d}"


async def test_accounts_have_queues_of_their_own() -> None:
    world = await make_world()
    mine = (b"Authorization", SIGNED.format("111122223333").encode())

    created = await world.dispatcher.dispatch(json_request("CreateQueue", b'{"QueueName":"orders"}', mine))
    listed = await world.dispatcher.dispatch(json_request("ListQueues", b"{}", mine))

    url = f"http://{HOST}/111122223333/orders"
    assert json.loads(created.body) == {"QueueUrl": url}
    assert json.loads(listed.body) == {"QueueUrls": [url]}
