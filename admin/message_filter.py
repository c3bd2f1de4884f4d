"""What to search for among messages: text, ID, group, attribute, a path in a JSON body, a time. A message must match
all given conditions. Every message of the chosen state is checked, page by page, up to a stated number."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

from admin.visit import Visit
from cqs.cache.entry import Entry
from cqs.message import Message
from cqs.service.peek import Filter

FIELDS = ("text", "id", "group", "attribute", "json", "since", "until")
_STEP = re.compile(r"\[([0-9]{1,6})\]|([^.\[\]]+)")


class Wanted(Filter, frozen=True, kw_only=True):
    """A `Filter` of the service, plus the conditions that only the console has. Times in ms; None = any."""

    json_path: str | None = None
    json_value: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    def admits(self, entry: Entry) -> bool:
        """The conditions that can be checked without the content."""
        is_late = self.since_ms is None or entry.sent_ms >= self.since_ms
        return is_late and (self.until_ms is None or entry.sent_ms <= self.until_ms) and super().admits(entry)

    def matches(self, message: Message) -> bool:
        return super().matches(message) and (self.json_path is None or self._has(message.body))

    def _has(self, body: str) -> bool:
        found = at_path(body, self.json_path or "")
        if self.json_value is None:
            return found is not None
        return found is not None and _as_text(found[0]) == self.json_value


def wanted_of(visit: Visit) -> Wanted:
    """The filter in the address."""
    attribute, has_value, value = visit.query("attribute").strip().partition("=")
    path, has_json_value, json_value = visit.query("json").strip().partition("=")
    return Wanted(
        text=visit.query("text") or None,
        message_id=visit.query("id").strip().lower() or None,
        group=visit.query("group").strip() or None,
        attribute=attribute.strip() or None,
        attribute_value=value.strip() if has_value else None,
        json_path=path.strip() or None,
        json_value=json_value.strip() if has_json_value else None,
        since_ms=_moment(visit.query("since")),
        until_ms=_moment(visit.query("until")),
    )


def is_asking(visit: Visit) -> bool:
    return any(visit.query(field).strip() for field in FIELDS)


def at_path(body: str, path: str) -> tuple[object] | None:
    """The value at `a.b[0].c` in a JSON body; None if there is none, or if the body is not JSON."""
    try:
        value: object = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
    for index, name in _STEP.findall(path.removeprefix("$").removeprefix(".")):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and index and int(index) < len(value):
            value = value[int(index)]
        else:
            return None
    return (value,)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _moment(text: str) -> int | None:
    """Milliseconds of "2026-01-31T12:00" (UTC); None if it is not a time."""
    try:
        moment = datetime.fromisoformat(text.strip().removesuffix("Z"))
    except ValueError:
        return None
    try:
        return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1_000)
    except (ValueError, OverflowError):
        return None
