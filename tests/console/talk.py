"""Helpers for tests of messages in the console."""

from __future__ import annotations

from cqs.cache.entry import State
from cqs.queue import Queue
from cqs.service.peek import Peeked, peek
from tests.console.desk import Desk, Seen
from tests.engine import ACCOUNT

ORDERS = f"/q/{ACCOUNT}/orders"


async def there(desk: Desk, queue: Queue, state: State = State.READY) -> list[Peeked]:
    """Returns the messages of a queue without receiving them."""
    return (await peek(desk.bench.engine, queue, state, count_max=100)).found


def ids(page: Seen) -> list[str]:
    """Returns the ids of the messages in a list, in order."""
    return [part[:36] for part in page.text.split('id="m-')[1:]]
