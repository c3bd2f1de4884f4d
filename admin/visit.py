"""One request to the console, with the user who made it: the argument of every page and action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from aiohttp import web

from admin.console import Console
from admin.grace import Pending
from admin.links import PREFIX, Links, base_of
from admin.origins import client_address, is_secure, told
from admin.session import Flash, Session
from admin.viewer import Viewer, viewer_of
from cqs.errors import AccessDenied, QueueDoesNotExist
from cqs.identity import Circumstances
from cqs.queue import Queue, QueueName

QUERY_LENGTH_MAX = 2_000


class Told(NamedTuple):
    """One line for the log of changes. `error` "" = it succeeded."""

    target: str = ""
    detail: str = ""
    error: str = ""


class Done(NamedTuple):
    """The result of an action. `path`: where to redirect; `target`, `detail`: for the log of changes, or `told` for
    several lines in it; `key`: the ID and secret of a new access key, for the next page only."""

    text: str
    path: str
    target: str = ""
    detail: str = ""
    key: tuple[str, str] = ("", "")
    told: Sequence[Told] = ()


@dataclass(frozen=True)
class Visit:
    """Belongs to one request."""

    request: web.BaseRequest
    parts: Mapping[str, str]
    """The named parts of the path."""
    console: Console
    session: Session
    viewer: Viewer
    is_locked: bool
    """Whether any user has a password. Until then, only this machine has access."""
    is_logged_in: bool = True
    flash: Flash | None = None

    @property
    def now_ms(self) -> int:
        return self.console.engine.clock.now_ms()

    @cached_property
    def account(self) -> str:
        """The account being viewed: from the path or the query, else the viewer's own; never one that the viewer may
        not see."""
        wanted = self.parts.get("account") or self.query("account")
        return wanted if wanted and self.viewer.sees(wanted) else self.viewer.account

    @cached_property
    def links(self) -> Links:
        base = base_of(self.request, is_forwarded_trusted=self.console.about.is_forwarded_trusted)
        return Links(base, self.console.assets, self.account, self.viewer.account)

    @property
    def is_refresh(self) -> bool:
        """Whether the page itself requested its live part."""
        return self.request.headers.get("HX-Request") == "true"

    @property
    def is_secure(self) -> bool:
        """Whether the browser appears to have come over TLS. Used only for links and cookies, which affect only that
        browser."""
        about = self.console.about
        is_told = about.is_forwarded_trusted and told(self.request, "X-Forwarded-Proto") == "https"
        return is_told or is_secure(self.request, about.proxies)

    @property
    def endpoint(self) -> str:
        """The server's URL for API clients, as the browser sees it."""
        host = self.request.headers.get("Host", "localhost")
        return self.console.about.public_url or f"{'https' if self.is_secure else 'http'}://{host}"

    @cached_property
    def address(self) -> str:
        """The client's address, as far as known."""
        return client_address(self.request, self.console.about.proxies)

    @property
    def circumstances(self) -> Circumstances:
        """What the conditions of a policy may refer to."""
        return Circumstances(
            now_ms=self.now_ms,
            source_ip=self.address or None,
            is_secure=is_secure(self.request, self.console.about.proxies),
            user_agent=self.request.headers.get("User-Agent"),
        )

    def query(self, name: str, default: str = "") -> str:
        """A value of the query string, truncated to QUERY_LENGTH_MAX."""
        return self.request.query.get(name, default)[:QUERY_LENGTH_MAX]

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A number in the query string; the default if it is invalid or out of range."""
        text = self.query(name)
        is_fine = text.isascii() and text.isdigit() and len(text) < 19
        return int(text) if is_fine and low <= int(text) <= high else default

    def numbered(self, part: str) -> int:
        """A part of the path as a number; 0 = it is not one."""
        text = self.parts[part]
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0

    def queue(self, permission: str) -> Queue:
        """The queue in the path. Raises QueueDoesNotExist, AccessDenied."""
        return self.queue_named(QueueName(self.parts["account"], self.parts["queue"]), permission)

    def queue_named(self, name: QueueName, permission: str) -> Queue:
        """The queue, if the viewer has this permission on it. Raises QueueDoesNotExist, AccessDenied."""
        if not self.viewer.sees(name.account):
            raise QueueDoesNotExist
        queue = self.console.engine.registry.find(name)
        self._check(permission, queue)
        return queue

    def may_to(self, permission: str, queue: Queue) -> bool:
        """Whether the viewer may do this to a queue of an account that they see."""
        try:
            self._check(permission, queue)
        except AccessDenied:
            return False
        return True

    def _check(self, permission: str, queue: Queue) -> None:
        self.viewer.check_queue(permission, queue, self.circumstances if self.console.about.is_enforced else None)

    async def renewed(self) -> Visit:
        """The same visit with the user's current permissions, for work done after the response. Raises AccessDenied if
        the user has since been deleted or disabled, or all sessions of the user were ended, StoreUnavailable."""
        if not self.viewer.user:
            return self
        users = (await self.console.accounts.identities()).users
        user = next((one for one in users if one.user_id == self.viewer.user_id and one.is_enabled), None)
        if user is None:
            raise AccessDenied(f"{self.viewer.user} has since been deleted or disabled, so it was not done.")
        if user.sessions != self.session.user_sessions:
            raise AccessDenied(f"All sessions of {self.viewer.user} have since been ended, so it was not done.")
        return replace(self, viewer=viewer_of(user, self.console.about.home))

    async def names(self) -> dict[str, str]:
        """User names by the ID under which they send and receive. Raises StoreUnavailable."""
        everybody = (await self.console.accounts.identities()).users
        return {user.user_id: user.name for user in everybody if self.viewer.sees(user.account)}

    @property
    def is_at_home(self) -> bool:
        """Whether the viewer belongs to the server's own account: other accounts may not see the nodes."""
        return self.viewer.account == self.console.about.home

    def check_home(self) -> None:
        """Raises AccessDenied unless the viewer belongs to the server's own account."""
        if not self.is_at_home:
            raise AccessDenied(f"Only users of the server's own account ({self.console.about.home}) may do this.")

    def may(self, permission: str) -> bool:
        """For templates: whether to offer it. The server checks again when it is done."""
        return self.viewer.may(permission)

    def here(self, path: str = "", /, **changes: object) -> str:
        """The address of this page, or of another with the same query, with some values changed; "" removes a value."""
        query: dict[str, object] = {name: self.request.query.getall(name) for name in self.request.query}
        for name, value in changes.items():
            query.pop(name, None)
            if value not in ("", None):
                query[name] = value
        return self.links.to(path or self.request.rel_url.raw_path.removeprefix(PREFIX), query)

    def page(self, template: str, *, status: int = 200, **values: object) -> web.Response:
        """The page, or only its live part when the page itself requests it. The header tells the script that it is
        ours, and not what a proxy answers in our place."""
        everything = {**values, "visit": self, "links": self.links, "now_ms": self.now_ms, "about": self.console.about}
        templates = self.console.templates
        text = templates.live(template, everything) if self.is_refresh else templates.page(template, everything)
        body = text.encode(errors="backslashreplace")
        named = {"X-CQS-Console": "1"}
        return web.Response(body=body, status=status, headers=named, content_type="text/html", charset="utf-8")

    @property
    def pending(self) -> list[Pending]:
        """Changes that are about to be made in the account being viewed."""
        return self.console.grace.of(self.account) if self.is_logged_in else []

    @property
    def worker(self) -> str:
        """Which of the node's workers answers; "" = there is only one process."""
        return self.console.engine.fellows.name

    @property
    def csrf(self) -> str:
        return self.console.sessions.token(self.session)

    @property
    def theme(self) -> str:
        """light or dark if chosen explicitly, "" = the system's setting."""
        chosen = self.request.cookies.get("cqs_theme", "")
        return chosen if chosen in ("light", "dark") else ""
