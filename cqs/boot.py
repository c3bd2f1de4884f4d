"""Creates the queues that the configuration declares, or updates them to match it, before the server accepts requests.
Idempotent. Attributes and tags that the file does not mention are left alone, so that clients may set them.
"""

from __future__ import annotations

from collections.abc import Sequence

from cqs.api.attributes import changes_of
from cqs.config.queues import DeclaredQueue
from cqs.errors import ConfigError, SqsError
from cqs.queue import Queue, QueueName, Redrive
from cqs.service import queues, tags
from cqs.service.engine import Engine


async def declare(engine: Engine, declared: Sequence[DeclaredQueue]) -> None:
    """Creates or updates the declared queues, in order. Raises ConfigError, naming the queue and the reason."""
    for queue in declared:
        key = QueueName(queue.account, queue.name)
        try:
            await _declare(engine, key, queue)
        except SqsError as error:
            raise ConfigError(f"queue {queue.name!r}: ({queue.origin}) {error}") from error


async def _declare(engine: Engine, key: QueueName, declared: DeclaredQueue) -> None:
    changes = changes_of(declared.attributes)
    if declared.dead_letter:
        if "redrive" in changes:
            raise ConfigError(
                f"queue {key.name!r}: ({declared.origin}) has both dead_letter and RedrivePolicy; keep one of them"
            )
        changes["redrive"] = Redrive(_dead_letter_queue(engine, key, declared).arn, declared.receive_count_max)
    if key.name.endswith(".fifo"):
        changes.setdefault("is_fifo", True)
    existing = engine.registry.get(key)
    if existing is None:
        await queues.create(engine, key, changes, dict(declared.tags))
        return
    await queues.change_settings(engine, existing, changes)
    missing = {name: value for name, value in declared.tags.items() if existing.tags.get(name) != value}
    if missing:
        await tags.tag(engine, engine.registry.find(key), missing)


def _dead_letter_queue(engine: Engine, key: QueueName, declared: DeclaredQueue) -> Queue:
    target = engine.registry.get(QueueName(key.account, declared.dead_letter))
    if target is None:
        raise ConfigError(
            f"queue {key.name!r}: dead_letter = {declared.dead_letter!r} ({declared.origin}) names no queue; declare it"
        )
    return target
