"""Addresses of pages, built in one place and always quoted. `base` is the console's mount path, including a prefix
added by a proxy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote, unquote, urlencode

from aiohttp import web

from admin.assets import Assets
from cqs.queue import Queue, QueueName, name_of_arn

PREFIX = "/ADMIN"
_FORWARDED_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]{1,64}){1,8}")


def base_of(request: web.BaseRequest, *, is_forwarded_trusted: bool) -> str:
    """The console's path as the browser sees it."""
    told = request.headers.get("X-Forwarded-Prefix", "").rstrip("/") if is_forwarded_trusted else ""
    return told + PREFIX if told and _FORWARDED_PREFIX.fullmatch(told) else PREFIX


@lru_cache(maxsize=1_000)
def _queue_path(account: str, name: str) -> str:
    return f"/q/{quote(account, safe='')}/{quote(name, safe='')}"


class Links:
    """`account` is the one being viewed; it is added to links where a page depends on the account, unless it is the
    `home` one."""

    def __init__(self, base: str, assets: Assets, account: str, home: str) -> None:
        self.base = base
        self._assets = assets
        self._account = "" if account == home else account

    def to(self, path: str, query: Mapping[str, object] | None = None, **more: object) -> str:
        """A page by its path ("/queues"); values of "" and None are omitted from the query."""
        wanted = {name: value for name, value in {**(query or {}), **more}.items() if value not in ("", None)}
        if self._account and "account" not in wanted:
            wanted["account"] = self._account
        return self.base + path + ("?" + urlencode(wanted, doseq=True) if wanted else "")

    def path(self, path: str) -> str:
        """A page's bare path, as the target of a form."""
        return self.base + path

    def queue(self, queue: Queue | QueueName, page: str = "", **query: object) -> str:
        """A queue's page, or one of its other pages ("messages")."""
        path = self.base + _queue_path(queue.account, queue.name) + (f"/{page}" if page else "")
        wanted = {name: value for name, value in query.items() if value not in ("", None)}
        return f"{path}?{urlencode(wanted, doseq=True)}" if wanted else path

    def queue_path(self, queue: Queue | QueueName, page: str) -> str:
        """A page of a queue, below the base, for `Visit.here`."""
        return f"{_queue_path(queue.account, queue.name)}/{page}"

    def arn(self, arn: str) -> str:
        """The page of the queue with this ARN, "" when it is not a queue's."""
        name = name_of_arn(arn)
        return self.queue(name) if name is not None else ""

    def static(self, name: str) -> str:
        return f"{self.base}/static/{self._assets.address(name)}"

    def is_ours(self, path: str) -> bool:
        """Whether a path leads to the console and nowhere else."""
        is_below = path == self.base or path.startswith((self.base + "/", self.base + "?"))
        steps = re.split(r"[?#]", path, maxsplit=1)[0].split("/")
        is_below = is_below and not any(unquote(step) in (".", "..") for step in steps)
        return is_below and "\\" not in path and path.isprintable() and len(path) <= 4_096
