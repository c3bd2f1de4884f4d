"""What an action works with: the engine, who calls, and the few facts of the request that matter to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from cqs import limits
from cqs.api import urls
from cqs.api.access import Access
from cqs.api.request import Head
from cqs.api.urls import BaseUrls
from cqs.errors import QueueDoesNotExist
from cqs.identity import Caller
from cqs.queue import Queue, QueueName
from cqs.service import lookup
from cqs.service.engine import Engine


class Context(msgspec.Struct, gc=False):
    """One request's. `undelivered` is set by an action that must hear of it when its answer reached nobody."""

    engine: Engine
    access: Access
    base_urls: BaseUrls
    action: str
    caller: Caller
    head: Head
    is_client_there: Callable[[], bool]
    undelivered: Callable[[], Awaitable[None]] | None = None

    async def queue(self, url: str) -> Queue:
        """The queue of a QueueUrl. Raises QueueDoesNotExist, what access control raises, and StoreUnavailable when it
        is unknown here and the store can't tell."""
        return await self.queue_named(self.name_of(url))

    def name_of(self, url: str) -> QueueName:
        """Which queue a QueueUrl names: that of the URL, whatever host it names, or the caller's own of that bare name,
        which SQS takes too. Raises QueueDoesNotExist."""
        name = urls.name_of_url(url)
        if name is not None:
            return name
        if limits.QUEUE_NAME.fullmatch(url):
            return QueueName(self.caller.account, url)
        raise QueueDoesNotExist

    async def queue_named(self, name: QueueName) -> Queue:
        queue = await lookup.find(self.engine, name)
        self.access.authorize(self.caller, self.action, queue)
        return queue

    def confirm(self, queue: Queue) -> None:
        """Returns when a call that has waited may go on. Raises what a new one of the same caller would by now."""
        caller = self.access.renewed(self.caller)
        self.access.authorize_call(caller, self.action)
        self.access.authorize(caller, self.action, self.engine.registry.get(queue.key) or queue)

    def url_of(self, queue: Queue) -> str:
        """The queue's URL for this client."""
        return urls.url_of(self.base_urls.of(self.head), queue)
