r"""What a browser's form takes out of a message, put back: it shows every line end as a line feed, and sends none
within one-line fields.

    original      in the form   typed          sent
    MSH\rPID      MSH\nPID      MSH\nPID\nx    MSH\rPID\rx    line ends of one kind stay of that kind
    a\r\nb\nc     a\nb\nc       a\nb\nc        a\r\nb\nc      what nobody touched stays as it was
    a\r\nb\nc     a\nb\nc       a\nb           a\nb           else they become line feeds
"""

from __future__ import annotations

import re

import msgspec

from cqs.message import Attribute, Message
from cqs.service.draft_rules import Draft

_LINE_END = re.compile(r"\r\n?|\n")


def is_mixed(body: str) -> bool:
    """Whether lines end in several ways."""
    return len(set(_LINE_END.findall(body))) > 1


def restored(draft: Draft, original: Message) -> Draft:
    """The draft, which was the original before it was shown and typed into."""
    before = {one.name: one for one in original.attributes}
    attributes = tuple(_restored(one, before.get(one.name)) for one in draft.attributes)
    return msgspec.structs.replace(draft, body=_body(draft.body, original.body), attributes=attributes)


def _body(typed: str, original: str) -> str:
    if typed == _LINE_END.sub("\n", original):
        return original
    ends = set(_LINE_END.findall(original))
    return typed.replace("\n", ends.pop()) if len(ends) == 1 else typed


def _restored(typed: Attribute, original: Attribute | None) -> Attribute:
    if original is None or original.data_type != typed.data_type:
        return typed
    shown = original.value.replace(b"\r", b"").replace(b"\n", b"")
    return original if not original.is_binary and typed.value == shown else typed
