"""A console on an in-memory engine, and a headless browser that keeps cookies and posts forms with the token of their
page.

desk = await make_desk()
await desk.add_user("alice", Role.ADMINISTRATOR)
await desk.log_in("alice")
page = await desk.get("/queues")
after = await desk.post("/queues/create", name="orders")
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from pathlib import Path

from aiohttp import ClientResponse, CookieJar, web
from aiohttp.test_utils import TestClient, TestServer
from argon2 import PasswordHasher

from admin.app import make_application
from admin.console import About, Console, Skin, make_console
from admin.grace import Grace
from cqs.doors import FormUpload
from cqs.identity import DEFAULT_ACCOUNT, Role
from cqs.service.accounts import Accounts
from cqs.service.credentials import Credentials
from cqs.service.passwords import Passwords
from cqs.service.seal import Sealer
from cqs.store.identity import MemoryIdentities
from tests.engine import Bench, make_bench

Client = TestClient[web.Request, web.Application]
SECRET = b"s" * 32
PASSWORD = "correct horse battery"
_TOKEN = re.compile(r'name="csrf" (?:value|content)="([0-9a-f]+)"')
_QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@dataclass(frozen=True)
class Seen:
    """A parsed response."""

    status: int
    text: str
    headers: dict[str, str]
    path: str
    raw: bytes = b""

    @property
    def words(self) -> str:
        """The visible text: no tags, no entities, single spaces."""
        body = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", self.text, flags=re.DOTALL)
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


@dataclass
class Desk:
    """The console, its engine, and one browser."""

    bench: Bench
    console: Console
    accounts: Accounts
    server: TestServer
    client: Client
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.client.port}"

    async def is_in(self) -> bool:
        """Whether pages are shown without another login."""
        return (await self.get("/", follow=False)).status == 200

    async def get(self, path: str, *, follow: bool = True, **headers: str) -> Seen:
        """Loads a page below /ADMIN, and keeps the token of its forms."""
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.client.get("/ADMIN" + path, allow_redirects=follow, headers=sent)
        return await self._seen(answer)

    async def post(
        self, path: str, fields: Mapping[str, str | list[str]] | None = None, *, follow: bool = True, **more: str
    ) -> Seen:
        """Posts a form of one of the console's pages, with its token."""
        pairs = [("csrf", self.token or await self._fresh_token())]
        for name, value in {**(fields or {}), **more}.items():
            pairs += [(name, one) for one in (value if isinstance(value, list) else [value])]
        return await self.post_raw(path, pairs, follow=follow, Origin=self.origin)

    async def post_raw(self, path: str, pairs: list[tuple[str, str]], *, follow: bool = True, **headers: str) -> Seen:
        """Posts a form exactly as given."""
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.client.post("/ADMIN" + path, data=pairs, allow_redirects=follow, headers=sent)
        return await self._seen(answer)

    async def add_user(self, name: str, role: Role, account: str = DEFAULT_ACCOUNT) -> None:
        await self.accounts.add_user(name, account, role, PASSWORD)

    async def log_in(self, name: str, password: str = PASSWORD, *, follow: bool = True) -> Seen:
        self.token = ""
        await self.get("/login")
        return await self.post("/login", {"user": name, "password": password}, follow=follow)

    def cookie(self) -> str:
        """Returns the browser's session cookie."""
        return next((one.value for one in self.client.session.cookie_jar if one.key == "cqs_console"), "")

    async def other(self) -> Desk:
        """Returns another browser for the same console."""
        client: Client = TestClient(self.server, cookie_jar=CookieJar(unsafe=True))
        return Desk(self.bench, self.console, self.accounts, self.server, client)

    async def neighbour(self) -> Desk:
        """Returns a browser for another node, whose console has the same store and the same secret."""
        console = make_console(self.bench.engine, self.accounts, SECRET, self.console.about, skin=_skin())
        server = TestServer(make_application(console, FormUpload))
        client: Client = TestClient(server, cookie_jar=CookieJar(unsafe=True))
        await client.start_server()
        return Desk(self.bench, console, self.accounts, server, client)

    async def _fresh_token(self) -> str:
        await self.get("/")
        return self.token

    async def _seen(self, answer: ClientResponse) -> Seen:
        raw = await answer.read()
        text = raw.decode("utf-8", "replace")
        found = _TOKEN.search(text)
        if found is not None:
            self.token = found[1]
        return Seen(answer.status, text, dict(answer.headers), answer.url.path_qs, raw)


@cache
def _skin() -> Skin:
    return Skin()


async def make_desk(
    *, about: About | None = None, folder: Path | None = None, bench: Bench | None = None, grace: Grace | None = None
) -> Desk:
    """Makes a console where nobody has a password yet. Without `grace`, all changes take effect at once."""
    bench = bench or await make_bench()
    engine = bench.engine
    identities, sealer = MemoryIdentities(), Sealer([b"k" * 32])
    credentials = Credentials(identities, sealer, engine.clock)
    accounts = Accounts(identities, sealer, Passwords(_QUICK), engine.clock, credentials)
    told = about or About(version="1", data=str(folder or ""))
    console = make_console(engine, accounts, SECRET, told, skin=_skin(), grace=grace or Grace(engine.clock, 0))
    server = TestServer(make_application(console, FormUpload))
    client: Client = TestClient(server, cookie_jar=CookieJar(unsafe=True))
    await client.start_server()
    return Desk(bench, console, accounts, server, client)
