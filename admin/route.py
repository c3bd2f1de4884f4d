"""What the application needs to know about a page or an action: its path, who may use it, and what runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from admin.forms import SMALL_BYTES_MAX, Form
from admin.viewer import LOOK
from admin.visit import Done, Visit
from cqs.errors import CqsError

Show = Callable[[Visit], Awaitable[web.StreamResponse]]
Act = Callable[[Visit, Form], Awaitable[Done | web.StreamResponse]]
Retry = Callable[[Visit, Form, CqsError], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Page:
    """Shown by GET; changes nothing. `permission` is what a viewer's role must have; None = anybody, logged in or
    not."""

    path: str
    show: Show
    permission: str | None = LOOK


@dataclass(frozen=True, slots=True)
class Action:
    """Performed by POST, with the session's token; recorded in the log of changes under `name`, which is also the
    permission unless another one is given. A failure is shown by `retry` with everything that was entered, or else on
    the page that the user came from."""

    path: str
    act: Act
    name: str
    retry: Retry | None = None
    permission: str | None = ""
    bytes_max: int = SMALL_BYTES_MAX
    is_logged: bool = True
    """False for actions that only look: a tester, a preview."""

    @property
    def needs(self) -> str | None:
        return self.name if self.permission == "" else self.permission
