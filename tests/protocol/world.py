"""A small test world: two queues with messages, a second account, a dispatcher and, if wanted, a listening socket.

    world = await make_world()
    reply = await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="x")
    async with world.listening() as door: raw = await door.exchange(b"GET / HTTP/1.1…")

Receives never wait in real time here: the engine's waiters have ended from the start, unless a test wants them.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import xml.etree.ElementTree as ElementTree
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from cqs.api.access import OpenAccess
from cqs.api.app import App
from cqs.api.dispatch import Dispatcher
from cqs.api.http.bounds import Bounds
from cqs.api.origins import Origins
from cqs.api.request import Headers, Reply, Request
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.queue import Queue
from tests.engine import Bench, make_bench

HOST = "localhost:9324"
BASE = f"http://{HOST}/000000000000"
STANDARD = f"{BASE}/orders"
FIFO = f"{BASE}/orders.fifo"
FORM = b"application/x-www-form-urlencoded"
JSON = b"application/x-amz-json-1.0"
ANSWER_S_MAX = 90.0


@dataclass(frozen=True, slots=True)
class World:
    bench: Bench
    dispatcher: Dispatcher
    standard: Queue
    fifo: Queue

    async def json(self, action: str, **members: Any) -> Reply:
        return await self.dispatcher.dispatch(json_request(action, json.dumps(members).encode()))

    async def query(self, action: str, **parameters: str) -> Reply:
        body = urlencode({"Action": action, "Version": "2012-11-05"} | parameters).encode()
        return await self.dispatcher.dispatch(form_request(body))

    async def handle(self) -> str:
        """Returns the receipt handle of a message in flight in the standard queue."""
        await self.bench.send(self.standard, "held")
        return (await self.bench.receive(self.standard, count_max=1))[0].handle

    def state(self) -> object:
        """Returns everything that a rejected request must not change."""
        queues = sorted((queue.key, queue.version, queue.generation) for queue in self.bench.engine.registry)
        return queues, tuple(one for one in self.bench.witness.heard if one[0] != "received_nothing")

    @asynccontextmanager
    async def listening(
        self, bounds: Bounds | None = None, *, stop_s_max: float = 5.0, **parts: Any
    ) -> AsyncIterator[Door]:
        app = App(parts.pop("dispatcher", self.dispatcher), bounds=bounds or Bounds(), **parts)
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        await app.start([listener], stop_s_max=stop_s_max)
        try:
            yield Door(app, listener.getsockname()[1])
        finally:
            await app.stop()
            listener.close()


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response, as a client reads it from the wire."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        return code_of(self.headers, self.body)


@dataclass(frozen=True, slots=True)
class Door:
    """The listening socket, and clients without an HTTP library."""

    app: App
    port: int

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def exchange(self, data: bytes) -> Answer:
        """Sends these bytes and returns the first response."""
        reader, writer = await self.connect()
        try:
            writer.write(data)
            return await read_answer(reader)
        finally:
            writer.close()


async def eventually(condition: Callable[[], bool]) -> None:
    """Lets sockets and other tasks run until the condition holds."""
    async with asyncio.timeout(ANSWER_S_MAX):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)


async def until_waiting(world: World, count: int = 1) -> None:
    """Lets other tasks run until that many receives wait."""
    await eventually(lambda: len(world.bench.engine.waiters) == count)


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    async with asyncio.timeout(ANSWER_S_MAX):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Answer(int(head[0].split(" ")[1]), headers, body)


async def make_world(
    *, waits: bool = False, bench: Bench | None = None, is_strict: bool = False, origins: Origins | None = None
) -> World:
    bench = bench or await make_bench()
    standard = await bench.create("orders")
    fifo = await bench.create("orders.fifo")
    if not waits:
        bench.engine.waiters.end_all()
    dispatcher = Dispatcher(
        bench.engine,
        OpenAccess(),
        RequestIds(random.Random(1)),
        origins=origins or Origins(),
        base_urls=BaseUrls(),
        is_strict=is_strict,
    )
    return World(bench, dispatcher, standard, fifo)


def json_request(action: str, body: bytes, *more: tuple[bytes, bytes], target: bytes = b"/") -> Request:
    headers: Headers = [
        (b"Host", HOST.encode()),
        (b"X-Amz-Target", b"AmazonSQS." + action.encode()),
        (b"Content-Type", JSON),
        (b"x-amzn-query-mode", b"true"),
        *more,
    ]
    return Request(b"POST", target, headers, body)


def form_request(body: bytes, *more: tuple[bytes, bytes], target: bytes = b"/") -> Request:
    return Request(b"POST", target, [(b"Host", HOST.encode()), (b"Content-Type", FORM), *more], body)


def wire_of(request: Request) -> bytes:
    """Returns the request as bytes, for a connection that closes after the response."""
    headers = [*request.headers, (b"Content-Length", str(len(request.body)).encode()), (b"Connection", b"close")]
    lines = [b"%s %s HTTP/1.1" % (request.method, request.target), *(b"%s: %s" % header for header in headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + request.body


def headers_of(reply: Reply) -> dict[str, str]:
    return {name.decode().lower(): value.decode() for name, value in reply.headers}


def code_of(headers: dict[str, str], body: bytes) -> str:
    """Returns the error code as SDKs of each protocol read it; "" = success."""
    if "x-amzn-query-error" in headers:
        assert json.loads(body)["__type"]
        return headers["x-amzn-query-error"].partition(";")[0]
    if headers.get("content-type") == "application/json":
        return str(json.loads(body).get("Error", {}).get("Code", ""))
    if headers.get("content-type", "").startswith("text/xml"):
        root = ElementTree.fromstring(body)
        tag = root.tag.rpartition("}")[2]
        if tag == "ErrorResponse":
            return root.findtext(".//{*}Code") or ""
        return tag if tag.endswith("Exception") else ""
    return ""


def text_of(reply_body: bytes) -> str:
    """Returns the message of an error in either protocol, unescaped."""
    if reply_body.startswith(b"{"):
        return str(json.loads(reply_body)["message"])
    return ElementTree.fromstring(reply_body).findtext(".//{*}Message") or ""
