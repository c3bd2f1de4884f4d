"""The modes: which caller and source address a request has, and what of it is trusted."""

from __future__ import annotations

from ipaddress import ip_network

import msgspec
import pytest

from cqs.api.access import OpenAccess
from cqs.api.authenticator import EnforcedAccess, Mode, Proxies, SignedAccess, access_of
from cqs.api.request import head_of
from cqs.errors import (
    InvalidClientTokenId,
    MissingAuthenticationToken,
    QueueDoesNotExist,
    ServiceUnavailable,
    SignatureDoesNotMatch,
)
from cqs.identity import Caller, Circumstances
from cqs.service.credentials import STALE_MS_MAX
from tests.unit.people import OURS, make_people
from tests.unit.signed_world import SignedWorld, make_signed_world, request_of
from tests.unit.sigv4_requests import Raw, replaced

PROXIES = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


def caller_of(world: SignedWorld, raw: Raw, peer: str = "127.0.0.1", **headers: str) -> Caller:
    request = request_of(raw, peer, **headers)
    return world.access.authenticate(request, head_of(request.headers))


def caller_over_tls(world: SignedWorld, raw: Raw, peer: str = "127.0.0.1", **headers: str) -> Caller:
    request = msgspec.structs.replace(request_of(raw, peer, **headers), is_secure=True)
    return world.access.authenticate(request, head_of(request.headers))


def test_each_mode_has_its_access() -> None:
    people = make_people()
    kinds = {mode: type(access_of(mode, people.credentials, people.clock)) for mode in Mode}

    assert kinds == {Mode.OPEN: OpenAccess, Mode.SIGNED: SignedAccess, Mode.ENFORCED: EnforcedAccess}


@pytest.mark.parametrize("mode", [Mode.SIGNED, Mode.ENFORCED])
async def test_signature_tells_who_calls(mode: Mode) -> None:
    world = await make_signed_world(mode)
    caller = caller_of(world, world.signed("alice", "ListQueues"))

    assert (caller.account, caller.user, caller.key_id) == (OURS, "alice", "AKIAALICE")
    assert caller.sender_id == caller.user_id and caller.user_id.startswith("AIDA")


@pytest.mark.parametrize("mode", [Mode.SIGNED, Mode.ENFORCED])
async def test_whoever_does_not_sign_properly_is_nobody(mode: Mode) -> None:
    world = await make_signed_world(mode)
    raw = world.signed("alice", "ListQueues")

    with pytest.raises(MissingAuthenticationToken):
        caller_of(world, replaced(raw, b"Authorization", None))
    with pytest.raises(SignatureDoesNotMatch):
        caller_of(world, raw._replace(body=b"{ }"))
    with pytest.raises(InvalidClientTokenId):
        caller_of(world, world.signed("mallory", "ListQueues"))


async def test_disabled_key_is_dead_at_once_and_a_stale_node_refuses_everybody() -> None:
    world = await make_signed_world()
    raw = world.signed("alice", "ListQueues")

    await world.people.accounts.set_key_enabled("AKIAALICE", False)
    with pytest.raises(InvalidClientTokenId):
        caller_of(world, raw)
    await world.people.accounts.set_key_enabled("AKIAALICE", True)
    assert caller_of(world, raw).user == "alice"
    world.people.clock.advance_ms(STALE_MS_MAX + 1)
    with pytest.raises(ServiceUnavailable):
        caller_of(world, raw)


async def test_enforced_mode_notes_the_circumstances() -> None:
    world = await make_signed_world()
    raw = world.signed("alice", "ListQueues")

    caller = caller_of(world, raw, "192.0.2.7", User_Agent="Boto3/1.43", Referer="https://example.com/")

    assert caller.circumstances == Circumstances(
        now_ms=world.people.clock.now_ms() // 1_000 * 1_000,
        source_ip="192.0.2.7",
        is_secure=False,
        user_agent="Boto3/1.43",
        referer="https://example.com/",
    )
    assert caller_of(world, raw, "").circumstances.source_ip is None
    assert caller_of(world, raw, "::ffff:192.0.2.7").circumstances.source_ip == "192.0.2.7"


async def test_connection_with_tls_is_secure_unless_a_listed_proxy_says_otherwise() -> None:
    world = await make_signed_world(proxies=PROXIES)
    raw = world.signed("alice", "ListQueues")

    assert not caller_of(world, raw).circumstances.is_secure
    assert caller_over_tls(world, raw).circumstances.is_secure
    assert caller_over_tls(world, raw, "192.0.2.7", X_Forwarded_Proto="http").circumstances.is_secure
    assert not caller_over_tls(world, raw, "10.0.0.1", X_Forwarded_Proto="http").circumstances.is_secure


async def test_stranger_can_not_choose_its_own_address_host_or_scheme() -> None:
    world = await make_signed_world(proxies=PROXIES)
    raw = world.signed("alice", "ListQueues")
    forged = {"X_Forwarded_For": "10.0.0.1", "X_Forwarded_Host": "evil.example", "X_Forwarded_Proto": "https"}

    circumstances = caller_of(world, raw, "192.0.2.7", **forged).circumstances

    assert (circumstances.source_ip, circumstances.is_secure) == ("192.0.2.7", False)


@pytest.mark.parametrize(
    ("forwarded", "source_ip"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7, 10.0.0.2", "192.0.2.7"),
        ("6.6.6.6, 192.0.2.7, 10.0.0.2", "192.0.2.7"),
        ("10.0.0.9, 10.0.0.2", "10.0.0.9"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("unknown", None),
        ("6.6.6.6, unknown, 10.0.0.2", None),
        ("6.6.6.6, , 10.0.0.2", None),
        ("", "10.0.0.1"),
    ],
)
async def test_behind_listed_proxies_the_client_is_the_last_who_is_none(forwarded: str, source_ip: str | None) -> None:
    world = await make_signed_world(proxies=PROXIES)
    raw = world.signed("alice", "ListQueues")

    assert caller_of(world, raw, "10.0.0.1", X_Forwarded_For=forwarded).circumstances.source_ip == source_ip


async def test_proxies_that_each_add_a_line_are_followed_like_those_that_lengthen_one() -> None:
    world = await make_signed_world(proxies=PROXIES)
    raw = world.signed("alice", "ListQueues")
    lines = [(b"X-Forwarded-For", hop) for hop in (b"6.6.6.6", b"192.0.2.7", b"10.0.0.2")]
    request = request_of(raw, "10.0.0.1")
    request = msgspec.structs.replace(request, headers=request.headers + lines)

    caller = world.access.authenticate(request, head_of(request.headers))

    assert caller.circumstances.source_ip == "192.0.2.7"


async def test_host_that_was_signed_may_be_told_by_a_listed_proxy_only() -> None:
    world = await make_signed_world(proxies=PROXIES)
    raw = world.sign("alice", url="https://queues.example/", body=b"Action=ListQueues")
    behind = replaced(raw, b"Host", b"10.0.0.7:9324")

    assert caller_of(world, behind, "10.0.0.1", X_Forwarded_Host="queues.example").user == "alice"
    assert caller_of(world, raw, "10.0.0.1").user == "alice"
    for peer in ("192.0.2.7", "", "unix"):
        with pytest.raises(SignatureDoesNotMatch):
            caller_of(world, behind, peer, X_Forwarded_Host="queues.example")


def test_nobody_is_a_proxy_unless_listed() -> None:
    request = request_of(Raw(b"GET", b"/", [], b""), "10.0.0.1", X_Forwarded_Host="a", X_Forwarded_Proto="https")
    head = head_of(request.headers)

    assert Proxies().host(request, head) is None
    assert Proxies().is_secure(request, head) is None
    assert Proxies().source_ip(request, head) == "10.0.0.1"
    assert Proxies(PROXIES).host(request, head) == b"a"
    assert Proxies(PROXIES).is_secure(request, head) is True


async def test_signed_mode_keeps_accounts_apart_whatever_the_policy() -> None:
    world = await make_signed_world(Mode.SIGNED)
    queue = next(one for one in world.bench.engine.registry if one.name == "orders")

    world.access.authorize(Caller(account=OURS), "SendMessage", queue)
    with pytest.raises(QueueDoesNotExist):
        world.access.authorize(Caller(account="222233334444"), "SendMessage", queue)
