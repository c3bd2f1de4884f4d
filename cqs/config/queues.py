"""Queues declared in the TOML file, created when the server starts:

    [[queue]]
    name = "orders"
    attributes = { VisibilityTimeout = 60 }
    tags = { team = "shop" }
    dead_letter = "orders-dead"
    max_receive_count = 5

    [[queue]]
    name = "orders-dead"

Only the form is checked here. The attributes are the API's, and it checks their values (`cqs.boot`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cqs.errors import ConfigError
from cqs.limits import QUEUE_NAME, REDRIVE_COUNT_DEFAULT, REDRIVE_COUNT_MAX, REDRIVE_COUNT_MIN


class Key(NamedTuple):
    """A key of `[[queue]]`. `default` as a user would type it, "" = none."""

    default: str
    help: str
    expects: str


KEYS = {
    "name": Key(
        "",
        "Name of the queue; required.",
        "1 to 80 letters, digits, - and _, ending in .fifo for a FIFO queue",
    ),
    "account": Key("", "Account that owns the queue. None: the setting account.", "twelve digits in quotes"),
    "attributes": Key("", "Attributes, by their SQS names.", "a table of names and strings, numbers or booleans"),
    "tags": Key("", "Tags of the queue.", "a table of names and strings, numbers or booleans"),
    "dead_letter": Key(
        "",
        "Dead-letter queue, in the same account; declared in this file, in any order, or existing already.",
        "the name of a queue",
    ),
    "max_receive_count": Key(
        str(REDRIVE_COUNT_DEFAULT),
        "How often a message is received before it moves to dead_letter, which must be given, too.",
        f"a whole number from {REDRIVE_COUNT_MIN} to {REDRIVE_COUNT_MAX}",
    ),
}


@dataclass(frozen=True, slots=True)
class DeclaredQueue:
    """One `[[queue]]`. `attributes` have SQS's names."""

    name: str
    origin: str
    account: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    dead_letter: str = ""
    receive_count_max: int = REDRIVE_COUNT_DEFAULT


def read_queues(
    entries: object, origin: str, default_account: str, setting_names: frozenset[str] = frozenset()
) -> tuple[DeclaredQueue, ...]:
    """All declared queues, each dead-letter queue before the queues that use it. Raises ConfigError."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ConfigError(f"queue: ({origin}) expected [[queue]], in double brackets, with a name")
    declared = [
        _read_queue(entry, number, origin, default_account, setting_names) for number, entry in enumerate(entries, 1)
    ]
    by_key: dict[tuple[str, str], DeclaredQueue] = {}
    for queue in declared:
        if (queue.account, queue.name) in by_key:
            raise ConfigError(f"queue {queue.name!r}: declared twice ({origin}); write it once")
        by_key[queue.account, queue.name] = queue
    return tuple(_in_order(declared, by_key))


def _read_queue(
    entry: Mapping[str, object], number: int, origin: str, default_account: str, setting_names: frozenset[str]
) -> DeclaredQueue:
    name = entry.get("name")
    for key in entry:
        if key not in KEYS:
            raise _unknown_key(key, f"number {number}" if name is None else repr(name), origin, setting_names)
    if not isinstance(name, str) or not QUEUE_NAME.fullmatch(name):
        raise ConfigError(
            f"queue number {number}: name {name!r} ({origin}) can't be used; expected {KEYS['name'].expects}"
        )
    count = entry.get("max_receive_count", REDRIVE_COUNT_DEFAULT)
    if isinstance(count, bool) or not isinstance(count, int) or not REDRIVE_COUNT_MIN <= count <= REDRIVE_COUNT_MAX:
        raise _bad("max_receive_count", name, count, origin)
    if "max_receive_count" in entry and "dead_letter" not in entry:
        raise ConfigError(f"queue {name!r}: max_receive_count ({origin}) needs dead_letter, the name of a queue")
    account = entry.get("account", "")
    if not isinstance(account, str) or (account and not re.fullmatch(r"[0-9]{12}", account)):
        raise _bad("account", name, account, origin)
    dead_letter = entry.get("dead_letter", "")
    if not isinstance(dead_letter, str) or (dead_letter and not QUEUE_NAME.fullmatch(dead_letter)):
        raise _bad("dead_letter", name, dead_letter, origin)
    return DeclaredQueue(
        name,
        origin,
        account or default_account,
        _texts("attributes", entry, origin),
        _texts("tags", entry, origin),
        dead_letter,
        count,
    )


def _texts(key: str, entry: Mapping[str, object], origin: str) -> dict[str, str]:
    """A table of scalars, converted to text as SQS writes it: true → "true", 60 → "60"."""
    table = entry.get(key, {})
    if not isinstance(table, dict) or not all(isinstance(value, str | int) for value in table.values()):
        raise _bad(key, str(entry["name"]), table, origin)
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in table.items()}


def _in_order(declared: list[DeclaredQueue], by_key: Mapping[tuple[str, str], DeclaredQueue]) -> list[DeclaredQueue]:
    """Each queue after its dead-letter queue, otherwise as written."""
    ordered: dict[tuple[str, str], DeclaredQueue] = {}
    for first in declared:
        chain: list[DeclaredQueue] = []
        queue: DeclaredQueue | None = first
        while queue is not None and (queue.account, queue.name) not in ordered:
            if queue in chain:
                names = " → ".join(link.name for link in [*chain, queue])
                raise ConfigError(
                    f"queue {queue.name!r}: the dead-letter queues form a cycle ({names}; {queue.origin})"
                )
            chain.append(queue)
            queue = by_key.get((queue.account, queue.dead_letter)) if queue.dead_letter else None
        for link in reversed(chain):
            ordered[link.account, link.name] = link
    return list(ordered.values())


def _bad(key: str, name: str, value: object, origin: str) -> ConfigError:
    return ConfigError(f"queue {name!r}: {key} = {value!r} ({origin}) can't be used; expected {KEYS[key].expects}")


def _unknown_key(key: str, named: str, origin: str, setting_names: frozenset[str]) -> ConfigError:
    if key.replace("-", "_") in setting_names:
        return ConfigError(f"queue {named}: {key} ({origin}) is a setting; write it above the first [[queue]]")
    nearest = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.4)
    hint = f"; did you mean {nearest[0]}?" if nearest else f"; expected one of {', '.join(KEYS)}"
    return ConfigError(f"queue {named}: no such key {key} ({origin}){hint}")
