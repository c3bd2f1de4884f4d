"""Records as JSON in the rows of a durable store, readable by people, by Spark and by other versions of the program.

    a list        unreadable records are logged and left out, so that one bad row stops no node's loop
    one by name   Unreadable, which names the record, so that nobody takes it for missing and creates it again

A row without a definition is dead: its cells are gone (by TTL, or by a delete that left its key). Lists skip such rows
silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
import structlog

from cqs.store.interface import Unreadable

T = TypeVar("T")
_log = structlog.get_logger("cqs.store")


class Definitions(Generic[T]):
    """Reads the definitions of one kind."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind.__name__
        self._decode = msgspec.json.Decoder(kind).decode
        self._told: dict[Sequence[object], str] = {}

    def one(self, text: str | None, *key: object) -> T:
        """`key` identifies the row. Raises Unreadable."""
        try:
            if text is None:
                raise msgspec.DecodeError("it is missing")
            return self._decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            place = "/".join(map(str, key))
            raise Unreadable(f"The definition of {self._kind} {place} can't be read: {error}.") from error

    def all(self, rows: Iterable[Sequence[Any]]) -> list[T]:
        """Decodes rows that end with the definition and begin with their key. Each unreadable record is logged once."""
        found: list[T] = []
        for *key, text in rows:
            if text is None:
                continue
            try:
                found.append(self.one(text, *key))
            except Unreadable as error:
                reason = str(error)
                if self._told.get(tuple(key)) != reason:
                    self._told[tuple(key)] = reason
                    _log.error("definition_not_read", reason=reason)
        return found
