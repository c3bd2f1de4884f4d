"""The HTTP app: operators' endpoints, applications mounted next to the API, and general requirements."""

from __future__ import annotations

import json

import pytest
from aiohttp import web
from aiohttp.http_parser import HttpRequestParserPy

from cqs.api import app as app_module
from cqs.api.app import App
from cqs.errors import CannotStart
from tests.protocol.world import make_world

GET = b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize("path", [b"/health", b"/healthz", b"/ready", b"/readyz"])
async def test_operators_are_told_that_all_is_well(path: bytes) -> None:
    world = await make_world()
    async with world.listening() as door:
        answer = await door.exchange(GET % path)

    assert (answer.status, json.loads(answer.body)) == (200, {"status": "ok"})
    assert answer.headers["server"] == "cqs"


async def test_server_that_is_not_ready_lives_and_says_why() -> None:
    world = await make_world()
    async with world.listening(why_not_ready=lambda: "the clock is 7 s off") as door:
        ready = await door.exchange(GET % b"/ready")
        health = await door.exchange(GET % b"/health")

    assert (ready.status, json.loads(ready.body)["reason"]) == (503, "the clock is 7 s off")
    assert health.status == 200


async def test_mounted_application_serves_everything_below_its_prefix() -> None:
    world = await make_world()

    async def hello(request: web.Request) -> web.Response:
        return web.Response(text=request.match_info["name"])

    console = web.Application()
    console.router.add_get("/ADMIN/{name}", hello)
    async with world.listening(mounts={"/ADMIN": console}) as door:
        mounted = await door.exchange(GET % b"/ADMIN/you?x=1")
        beside = await door.exchange(GET % b"/ADMINISTRATOR/you")

    assert (mounted.status, mounted.body) == (200, b"you")
    assert (beside.status, beside.body) == (404, b"<UnknownOperationException/>\n")


async def test_browser_at_the_root_is_sent_to_the_front_and_a_client_is_not() -> None:
    world = await make_world()
    browser = b"GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html,*/*\r\n\r\n"
    async with world.listening(front="/ADMIN") as door:
        sent = await door.exchange(browser)
        client = await door.exchange(GET % b"/")
    async with world.listening() as door:
        without_console = await door.exchange(browser)

    assert (sent.status, sent.headers["location"]) == (302, "/ADMIN")
    assert client.status == without_console.status == 404


async def test_http_before_1_0_is_refused() -> None:
    world = await make_world()
    async with world.listening() as door:
        answer = await door.exchange(b"GET /health\r\n\r\n")

    assert answer.status == 400


async def test_parser_in_python_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await make_world()
    monkeypatch.setattr(app_module, "HttpRequestParser", HttpRequestParserPy)

    with pytest.raises(CannotStart, match="C parser"):
        App(world.dispatcher)


async def test_stopping_twice_and_without_a_start_is_fine() -> None:
    world = await make_world()
    app = App(world.dispatcher)

    await app.stop()
    await app.stop()
