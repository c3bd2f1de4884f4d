"""Why a message is a dead letter, and what it looks like: for grouping similar ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from admin.bodies import attribute_text
from admin.formats import glimpse, times
from cqs import ids
from cqs.message import Message
from cqs.queue import name_of_arn
from cqs.service.registry import Registry

KEYS_SHOWN_MAX = 6
_REASON_NAMES = ("error", "errormessage", "error_message", "exception", "reason", "failure", "cause")
_REASON_MAX, _ERROR_MAX = 160, 80
_NUMBER = re.compile(r"\b(?=[0-9a-fA-F-]*[0-9])[0-9a-fA-F-]+\b")
"""Also matches parts of IDs."""


class Kind(msgspec.Struct, frozen=True, order=True):
    """What similar dead letters share: their source queue, the shape of their bodies, and the error that they report,
    with "#" in place of numbers; "" = none."""

    source: str
    shape: str
    error: str = ""

    def is_alike(self, source: str, shape: str, error: str) -> bool:
        """Whether it matches the selection; "" = any."""
        pairs = ((source, self.source), (shape, self.shape), (error, self.error))
        return all(not wanted or wanted == own for wanted, own in pairs)


class Group(msgspec.Struct, frozen=True):
    """Similar dead letters, among those scanned."""

    kind: Kind
    count: int


def kind_of(message: Message) -> Kind:
    name = name_of_arn(message.source_arn) if message.source_arn else None
    return Kind(name.name if name is not None else "", shape_of(message.body), error_of(message))


def error_of(message: Message) -> str:
    """The error that the message itself reports, without the parts that differ between messages."""
    return _NUMBER.sub("#", glimpse(_said(message), _ERROR_MAX))


def shape_of(body: str) -> str:
    """The members of a JSON object; otherwise the kind of text."""
    head = body.lstrip()[:1]
    if head in ("{", "["):
        try:
            value: object = msgspec.json.decode(body)
        except (ValueError, RecursionError):
            return "broken JSON"
        if isinstance(value, dict):
            names = sorted(str(name) for name in value)
            more = f" +{len(names) - KEYS_SHOWN_MAX}" if len(names) > KEYS_SHOWN_MAX else ""
            shown = ", ".join(glimpse(name, 24) for name in names[:KEYS_SHOWN_MAX])
            return f"{{{shown}{more}}}"
        return "JSON list"
    return "XML" if head == "<" else "text"


def grouped(kinds: Iterable[Kind]) -> list[Group]:
    """Largest first."""
    return [Group(kind, count) for kind, count in Counter(kinds).most_common()]


def reason_of(message: Message, registry: Registry) -> str:
    """Why it is here, as far as known: the error that the message itself reports, else the rule that moved it."""
    said = _said(message)
    if said:
        return glimpse(said, _REASON_MAX)
    if not message.source_arn:
        return "It was sent directly to this queue."
    source = registry.of_arn(message.source_arn)
    redrive = source.settings.redrive if source is not None else None
    name = message.source_arn.rpartition(":")[2]
    if redrive is None:
        return f"Received too many times from {name}."
    return f"Received more than {times(redrive.receive_count_max)} from {name}."


def arrived_ms(message: Message) -> int:
    """When it arrived in this queue: its address was assigned then."""
    return ids.ms_of(message.address)


def _said(message: Message) -> str:
    for attribute in message.attributes:
        if attribute.name.lower().replace("-", "_") in _REASON_NAMES and not attribute.is_binary:
            return attribute_text(attribute)
    if message.body.lstrip()[:1] == "{":
        try:
            value: object = msgspec.json.decode(message.body)
        except (ValueError, RecursionError):
            return ""
        if isinstance(value, dict):
            found = [value[name] for name in value if str(name).lower() in _REASON_NAMES]
            return next((one for one in found if isinstance(one, str)), "")
    return ""
