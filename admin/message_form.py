"""A message as a form, or as a line of JSON: parsed, and checked with the API's own rules before anything is sent.

    {"body": "…", "attributes": {"name": {"type": "String", "value": "…"}}, "delay": 5, "group": "…", "dedup_id": "…"}

A line that is not such an object, but any other JSON or text, is itself the body.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Sequence

import msgspec

from admin.bodies import attribute_text
from admin.forms import BadInput, Form
from admin.queue_form import read_duration
from cqs import limits
from cqs.errors import CqsError, SqsError
from cqs.message import Attribute, Message
from cqs.plural import plural
from cqs.queue import Settings
from cqs.service import draft_rules
from cqs.service.draft_rules import Draft

KINDS = ("String", "Number", "Binary")
LINES_MAX = 1_000
ATTRIBUTE_ROWS = 3
FORM_BYTES_MAX = 4_500_000
"""A body of the maximum size with every byte escaped, plus some room."""


class PartlySent(CqsError):
    """Some of the lines were sent. `rest` are those that were not sent, or whose outcome is unknown."""

    def __init__(self, sent: int, rest: Sequence[str], why: CqsError) -> None:
        were = plural(sent, "was", "were")
        super().__init__(f"{sent} of {sent + len(rest)} {were} sent, and {were} removed from the lines; then: {why}")
        self.rest = tuple(rest)


class _AttributeLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    value: str | int | float
    type: str = "String"


class _MessageLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    body: str
    attributes: dict[str, _AttributeLine] = {}
    delay: int | None = None
    group: str | None = None
    dedup_id: str | None = None


_line = msgspec.json.Decoder(_MessageLine)


def read_draft(form: Form, settings: Settings) -> Draft:
    """The message of the form. Raises BadInput, and what the API would raise for it."""
    delay = form.word("delay")
    draft = Draft(
        body=form.text("body"),
        attributes=read_attributes(form),
        delay_ms=read_duration(delay, "Delay", 0, limits.DELAY_S_MAX) if delay else None,
        trace_header=form.word("trace_header") or None,
        group=form.word("group") or None,
        dedup_id=form.word("dedup_id") or None,
    )
    draft_rules.check(draft, settings)
    return draft


def read_attributes(form: Form) -> tuple[Attribute, ...]:
    """Rows of name, type and value; rows without a name are skipped. Raises BadInput."""
    names, kinds, values = form.all("attribute_name"), form.all("attribute_type"), form.all("attribute_value")
    if not len(names) == len(kinds) == len(values):
        raise BadInput("Attributes: each needs a name, a type and a value.")
    rows = zip(names, kinds, values, strict=True)
    found = [_attribute(name.strip(), kind.strip(), value) for name, kind, value in rows if name.strip()]
    if len({one.name for one in found}) < len(found):
        raise BadInput("Attributes: a name is given twice.")
    return tuple(found)


def write_attributes(message: Message | None) -> list[tuple[str, str, str]]:
    """The rows of a form: those of the message, and some empty ones."""
    rows = [(one.name, one.data_type, attribute_text(one)) for one in message.attributes] if message else []
    return rows + [("", "String", "")] * max(1, ATTRIBUTE_ROWS - len(rows))


def typed_attributes(form: Form) -> list[tuple[str, str, str]]:
    """The rows as entered."""
    columns = (form.all("attribute_name"), form.all("attribute_type"), form.all("attribute_value"))
    return list(zip(*columns, strict=False)) or write_attributes(None)


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """The lines that are not empty, with their line numbers from 1."""
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def read_lines(text: str, settings: Settings) -> list[Draft]:
    """One message per line; empty lines are skipped. Raises BadInput, which names the line."""
    lines = numbered_lines(text)
    if not 1 <= len(lines) <= LINES_MAX:
        raise BadInput(f"1 to {LINES_MAX:,} lines are needed, one message per line.")
    drafts = []
    for number, line in lines:
        try:
            draft = _draft_of(line)
            draft_rules.check(draft, settings)
        except (SqsError, BadInput) as error:
            raise BadInput(f"Line {number}: {error}") from error
        drafts.append(draft)
    return drafts


def _draft_of(line: str) -> Draft:
    try:
        told = _line.decode(line)
    except (ValueError, RecursionError):
        return Draft(body=line)
    if told.delay is not None and not 0 <= told.delay <= limits.DELAY_S_MAX:
        raise BadInput(f"delay: 0 to {limits.DELAY_S_MAX} seconds.")
    return Draft(
        body=told.body,
        attributes=tuple(_attribute(name, one.type, str(one.value)) for name, one in told.attributes.items()),
        delay_ms=None if told.delay is None else told.delay * 1_000,
        group=told.group,
        dedup_id=told.dedup_id,
    )


def _attribute(name: str, kind: str, value: str) -> Attribute:
    if kind.partition(".")[0] != "Binary":
        return Attribute(name, kind, value.encode("utf-8", "surrogatepass"))
    try:
        return Attribute(name, kind, b64decode("".join(value.split()), validate=True))
    except (binascii.Error, ValueError) as error:
        raise BadInput(f"Attributes: {name!r} is binary, so its value must be base64.") from error
