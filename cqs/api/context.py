"""What an action works with: the engine, the caller, and the few facts about the request that it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from cqs import limits
from cqs.api import urls
from cqs.api.access import Access
from cqs.api.request import Client, Head
from cqs.api.urls import BaseUrls
from cqs.errors import QueueDoesNotExist
from cqs.identity import Caller
from cqs.queue import Queue, QueueName
from cqs.service import lookup
from cqs.service.engine import Engine


class Context(msgspec.Struct, gc=False):
    """Belongs to one request. An action sets `undelivered` when it must know that its answer did not reach the
    client."""

    engine: Engine
    access: Access
    base_urls: BaseUrls
    action: str
    caller: Caller
    head: Head
    client: Client
    undelivered: Callable[[], Awaitable[None]] | None = None

    async def queue(self, url: str) -> Queue:
        """The queue of a QueueUrl. Raises QueueDoesNotExist, what access control raises, and StoreUnavailable when the
        queue is unknown here and the store does not answer."""
        return await self.queue_named(self.name_of(url))

    def name_of(self, url: str) -> QueueName:
        """Which queue a QueueUrl names: that of the URL, whatever its host, or, for a bare name, which SQS accepts too,
        the caller's own queue of that name. Raises QueueDoesNotExist."""
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
        """Returns when a call that has waited may continue. Raises what a new call by the same caller would raise
        now."""
        caller = self.access.renewed(self.caller)
        self.access.authorize_call(caller, self.action)
        self.access.authorize(caller, self.action, self.engine.registry.get(queue.key) or queue)

    def url_of(self, queue: Queue) -> str:
        """The queue's URL for this client."""
        return urls.url_of(self.base_urls.of(self.head), queue)
