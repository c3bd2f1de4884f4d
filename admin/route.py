"""What a page or an action is to the application: its path, who may, and what runs."""

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
    """Done by POST, with the session's token; written into the log of changes under `name`, which is also the
    permission unless another is named. What fails is shown by `retry` with everything that was typed, or else told on
    the page that the person came from."""

    path: str
    act: Act
    name: str
    retry: Retry | None = None
    permission: str | None = ""
    bytes_max: int = SMALL_BYTES_MAX
    is_logged: bool = True
    """Off for what only looks: a tester, a preview."""

    @property
    def needs(self) -> str | None:
        return self.name if self.permission == "" else self.permission
