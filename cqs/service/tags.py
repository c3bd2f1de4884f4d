"""Tags of a queue: up to 50 names and values that mean something only to its owner, except `cqs:consistency-hint`,
which affects receives unless the server is strict (`cqs.cluster.hint`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from cqs import limits
from cqs.cluster import hint
from cqs.errors import InvalidParameterValue
from cqs.queue import Queue
from cqs.service.engine import Engine
from cqs.service.queue_edit import edit

RESERVED_PREFIX = "aws:"


def check_tags(tags: Mapping[str, str]) -> None:
    """Raises InvalidParameterValue for too many tags, or for the first one that SQS would reject."""
    if len(tags) > limits.TAGS_MAX:
        raise InvalidParameterValue(f"Too many tags: {len(tags)}. A queue can have at most {limits.TAGS_MAX}.")
    for key, value in tags.items():
        if not 1 <= len(key) <= limits.TAG_KEY_MAX:
            raise _invalid(key, "TagKey", f"A tag key has 1 to {limits.TAG_KEY_MAX} characters.")
        if key.lower().startswith(RESERVED_PREFIX):
            raise _invalid(key, "TagKey", f"The prefix {RESERVED_PREFIX} is reserved.")
        if len(value) > limits.TAG_VALUE_MAX:
            raise _invalid(value, "TagValue", f"A tag value has at most {limits.TAG_VALUE_MAX} characters.")
        if limits.BAD_CHARACTER.search(key) or limits.BAD_CHARACTER.search(value):
            raise InvalidParameterValue("One or more parameters are invalid. Reason: Invalid characters in a tag.")


def check_new_tags(engine: Engine, tags: Mapping[str, str]) -> None:
    """As `check_tags`, and rejects an invalid consistency hint."""
    check_tags(tags)
    value = tags.get(hint.TAG)
    if value is not None and engine.tuning.is_hint_on and hint.parse(value) is None:
        raise _invalid(value, "TagValue", f"{hint.TAG} is a whole number from 1 to {hint.K_MAX}, or auto.")


async def tag(engine: Engine, queue: Queue, tags: dict[str, str]) -> None:
    """Adds tags, replacing those with the same key. All or none. Raises as `check_new_tags` (the limit includes the
    queue's existing tags), QueueDoesNotExist, StoreUnavailable, OutcomeUnknown."""
    check_new_tags(engine, tags)

    def change(current: Queue) -> Queue:
        merged = {**current.tags, **tags}
        check_tags(merged)
        return msgspec.structs.replace(current, tags=merged)

    await edit(engine, queue, change)


async def untag(engine: Engine, queue: Queue, keys: Sequence[str]) -> None:
    """Removes the tags with these keys; unknown keys are ignored. Raises QueueDoesNotExist, StoreUnavailable,
    OutcomeUnknown."""

    gone = frozenset(keys)

    def change(current: Queue) -> Queue:
        return msgspec.structs.replace(current, tags={k: v for k, v in current.tags.items() if k not in gone})

    await edit(engine, queue, change)


def _invalid(value: str, parameter: str, reason: str) -> InvalidParameterValue:
    return InvalidParameterValue.of(value[: limits.TAG_VALUE_MAX], parameter, reason)
