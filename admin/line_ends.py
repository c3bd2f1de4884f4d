r"""Restores what a browser's form removes from a message: forms convert all line ends to line feeds, and remove them
from one-line fields.

    original      in the form   entered        sent
    MSH\rPID      MSH\nPID      MSH\nPID\nx    MSH\rPID\rx    line ends of a single kind keep their kind
    a\r\nb\nc     a\nb\nc       a\nb\nc        a\r\nb\nc      an unchanged body stays as it was
    a\r\nb\nc     a\nb\nc       a\nb           a\nb           otherwise they become line feeds
"""

from __future__ import annotations

import re

import msgspec

from cqs.message import Attribute, Message
from cqs.service.draft_rules import Draft

_LINE_END = re.compile(r"\r\n?|\n")


def is_mixed(body: str) -> bool:
    """Whether the line ends are of several kinds."""
    return len(set(_LINE_END.findall(body))) > 1


def restored(draft: Draft, original: Message) -> Draft:
    """The draft with the original's line ends, where they can be restored."""
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
