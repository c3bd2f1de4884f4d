"""Which web pages may call the API: only listed origins, whatever the browser sends."""

from __future__ import annotations

import pytest

from cqs.api.origins import Origins, Unsigned
from cqs.api.request import Request
from tests.protocol.world import HOST, STANDARD, code_of, form_request, headers_of, json_request, make_world

LISTED = ["http://localhost", "http://localhost:3000", "http://127.0.0.1:8080", "http://[::1]:5173"]
OTHERS = [
    "null",
    "",
    "http://evil.example",
    "http://localhost.evil.example",
    "http://localhost:3000.evil.example",
    "http://localhost:3000/",
    "https://localhost:3000",
    "http://localhost@evil.example",
    "http://127.0.0.1.evil.example:80",
    "file://",
    "http://localhost:3000, http://evil.example",
]


def purge(*headers: tuple[bytes, bytes]) -> list[Request]:
    """Returns the worst request a page could make, in every form it could use."""
    query = f"Action=PurgeQueue&QueueUrl={STANDARD}".encode()
    return [
        json_request("PurgeQueue", f'{{"QueueUrl":"{STANDARD}"}}'.encode(), *headers),
        form_request(query, *headers),
        Request(b"GET", b"/?" + query, [(b"Host", HOST.encode()), *headers]),
    ]


@pytest.mark.parametrize("origin", OTHERS)
async def test_other_page_is_refused_before_anything_happens(origin: str) -> None:
    world = await make_world()
    before = world.state()

    for request in purge((b"Origin", origin.encode())):
        reply = await world.dispatcher.dispatch(request)

        headers = headers_of(reply)
        assert (reply.status, code_of(headers, reply.body)) == (403, "AccessDenied")
        assert not any(name.startswith("access-control-") for name in headers)
        assert b"see its setting origins" in reply.body
    assert world.state() == before


@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin"])
async def test_page_that_hides_its_origin_is_refused(site: str) -> None:
    """An image, a link, a form without a referrer, or a page whose name was rebound to this server's address."""
    world = await make_world()
    before = world.state()

    for request in purge((b"Sec-Fetch-Site", site.encode())):
        reply = await world.dispatcher.dispatch(request)

        assert reply.status == 403
    assert world.state() == before


async def test_address_typed_by_the_user_is_served() -> None:
    world = await make_world()
    headers = [(b"Host", HOST.encode()), (b"Sec-Fetch-Site", b"none")]

    reply = await world.dispatcher.dispatch(Request(b"GET", b"/?Action=ListQueues", headers))

    assert reply.status == 200


@pytest.mark.parametrize("origin", LISTED)
async def test_listed_page_is_served_and_may_read_the_answer(origin: str) -> None:
    world = await make_world()
    page = [(b"Origin", origin.encode()), (b"Sec-Fetch-Site", b"cross-site")]

    good = await world.dispatcher.dispatch(json_request("ListQueues", b"{}", *page))
    bad = await world.dispatcher.dispatch(json_request("Nope", b"{}", *page))

    assert (good.status, bad.status) == (200, 404)
    for reply in (good, bad):
        headers = headers_of(reply)
        assert headers["access-control-allow-origin"] == origin
        assert headers["vary"] == "Origin"
        assert "x-amzn-RequestId" in headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in headers


async def test_preflight_of_a_listed_page_is_answered() -> None:
    world = await make_world()
    asked = b"authorization, x-amz-target"
    headers = [(b"Host", b"h"), (b"Origin", b"http://localhost:3000"), (b"Access-Control-Request-Headers", asked)]

    reply = await world.dispatcher.dispatch(Request(b"OPTIONS", b"/", headers))

    answer = headers_of(reply)
    assert (reply.status, reply.body) == (204, b"")
    assert answer["access-control-allow-headers"] == asked.decode()
    assert answer["access-control-allow-methods"] == "GET, POST, OPTIONS"
    assert [name for name, _ in reply.headers].count(b"Access-Control-Allow-Origin") == 1


async def test_preflight_of_another_page_is_refused() -> None:
    world = await make_world()

    reply = await world.dispatcher.dispatch(
        Request(b"OPTIONS", b"/", [(b"Host", b"h"), (b"Origin", b"http://evil.example")])
    )

    assert reply.status == 403
    assert "access-control-allow-origin" not in headers_of(reply)


async def test_answer_to_an_sdk_has_no_cors_headers() -> None:
    world = await make_world()

    reply = await world.json("ListQueues")

    assert not any(name.startswith("access-control-") for name in headers_of(reply))


@pytest.mark.parametrize(
    ("allowed", "origin", "is_fine"),
    [
        (["https://app.example"], b"https://app.example", True),
        (["https://app.example"], b"https://app.example:444", False),
        (["https://app.example"], b"https://appxexample", False),
        (["https://app.example:*"], b"https://app.example:444", True),
        (["*"], b"https://any.example", True),
        ([], b"http://localhost:3000", False),
    ],
)
def test_list_means_what_it_says(allowed: list[str], origin: bytes, is_fine: bool) -> None:
    headers = Origins(allowed).cors_headers({b"origin": origin})

    assert bool(headers) is is_fine


@pytest.mark.parametrize(
    ("host", "is_served"),
    [
        (b"evil.example:9324", False),
        (b"evil.example", False),
        (b"evil.example.:9324", False),
        (b"a_b.evil.example:9324", False),
        (b"127.0.0.1.evil.example:9324", False),
        (b"xn--e1afmkfd.example:9324", False),
        ("\u00e9vil.example".encode(), False),
        (b"0.0.0.0:9324", False),
        (b"[::]:9324", False),
        (b"[::ffff:127.0.0.1]:9324", False),
        (b"[::ffff:7f00:1]", False),
        (b"", True),
        (b"localhost", True),
        (b"localhost.:9324", True),
        (b"10.0.0.7:9324", True),
        (b"127.0.0.1:9324", True),
        (b"[::1]:9324", True),
        (b"localhost:9324", True),
        (b"sqs.localhost:9324", True),
        (b"cqs:9324", True),
        (b"listed.example:9324", True),
    ],
)
async def test_name_bound_to_loopback_by_somebody_else_can_not_be_used_for_a_get(host: bytes, is_served: bool) -> None:
    origins = Origins(["http://listed.example:9324"], Unsigned.LOOPBACK)
    world = await make_world(origins=origins)
    query = f"Action=PurgeQueue&QueueUrl={STANDARD}".encode()

    reply = await world.dispatcher.dispatch(Request(b"GET", b"/?" + query, [(b"Host", host)]))

    assert (reply.status == 200) is is_served


@pytest.mark.parametrize(
    ("host", "is_served"),
    [
        (b"0.0.0.0:9324", False),
        (b"[::]", False),
        (b"[::ffff:7f00:1]:9324", False),
        (b"sqs.internal.example:9324", True),
        (b"10.0.0.7", True),
    ],
)
async def test_open_server_on_a_network_has_names_and_still_no_unannounced_address(
    host: bytes, is_served: bool
) -> None:
    """As in a container whose port is published on the loopback interface of a developer's machine."""
    world = await make_world(origins=Origins(unsigned=Unsigned.ANYWHERE))

    reply = await world.dispatcher.dispatch(Request(b"GET", b"/?Action=ListQueues", [(b"Host", host)]))

    assert (reply.status == 200) is is_served
