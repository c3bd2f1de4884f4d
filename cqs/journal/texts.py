"""The part of a line that belongs to a message, as JSON text without braces, put together by hand: this runs for every
event of a busy server, and costs a third of what building a `cqs.events.Line` and encoding it does. A test decodes
every kind of line as a `Line`.

What a client chose (groups, names, ids) is quoted; numbers, hashes and addresses need no quoting.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from cqs import digests
from cqs.cache.interface import Received
from cqs.events import INDEX_ATTRIBUTE, RUN_ATTRIBUTE, SENDER_ATTRIBUTE
from cqs.ids import text_of
from cqs.message import Message
from cqs.queue import Queue

_QUOTED_MAX = 4_096
_ADDRESSES_MAX = 16_384
"""A message is told of three times, mostly within this many others."""
_text_of = lru_cache(_ADDRESSES_MAX)(text_of)
_ATTRIBUTES = {RUN_ATTRIBUTE: "run", SENDER_ATTRIBUTE: "sender"}


def of_queue(queue: Queue, prefix: str = "") -> str:
    """Its names, or with prefix "to_" those of a move's target."""
    text = f',"{prefix}queue":{quoted(queue.name)},"{prefix}uid":{queue.uid},"{prefix}generation":{queue.generation}'
    if prefix:
        return text
    return f',"account":{quoted(queue.account)}{text}' + (',"is_fifo":true' if queue.settings.is_fifo else "")


def of_address(address: int, prefix: str = "") -> str:
    return f',"{prefix}address":"{_text_of(address)}"'


def of_message(message: Message) -> str:
    """Its content and what its sender says of it, without its address."""
    body, sender_id = message.body, quoted(message.sender_id)
    size = len(body) if body.isascii() else len(body.encode())
    text = f',"md5":"{digests.of_body(message)}","bytes":{size},"sent_ms":{message.sent_ms},"sender_id":{sender_id}'
    if message.visible_ms:
        text += f',"visible_ms":{message.visible_ms}'
    if message.group is not None:
        text += f',"tenant":{quoted(message.group)}'
    if message.sequence:
        text += f',"sequence":{message.sequence}'
    if message.moved_id is not None:
        text += f',"message_id":{quoted(message.moved_id)}'
    return text + _of_attributes(message) if message.attributes else text


def of_received(one: Received, receiver_id: str) -> str:
    """A receive, with the hash of the body that goes out. It is known of a body that was never out of memory since it
    was sent; one that was read from the store is hashed again."""
    text = f'{of_given_back(one)},"receiver_id":{quoted(receiver_id)}'
    return f'{text},"md5":"{digests.of_body(one.message)}"' if one.message is not None else text


def of_given_back(one: Received) -> str:
    """A receive that reached nobody."""
    text = (
        f',"address":"{_text_of(one.address)}","sent_ms":{one.sent_ms},"receive_number":{one.receive_number}'
        f',"receive_count":{one.receive_count},"received_ms":{one.received_ms}'
        f',"hidden_until_ms":{one.hidden_until_ms}'
    )
    if one.group is not None:
        text += f',"tenant":{quoted(one.group)}'
    return text + f',"sequence":{one.sequence}' if one.sequence else text


@lru_cache(_QUOTED_MAX)
def quoted(text: str) -> str:
    """As a JSON string; what is no Unicode in it becomes a question mark."""
    return msgspec.json.encode(text.encode(errors="replace").decode()).decode()


def _of_attributes(message: Message) -> str:
    text = ""
    for attribute in message.attributes:
        name = attribute.name
        if name in _ATTRIBUTES:
            text += f',"{_ATTRIBUTES[name]}":{quoted(attribute.value.decode(errors="replace"))}'
        elif name == INDEX_ATTRIBUTE and attribute.value.isdigit() and len(attribute.value) < 19:
            text += f',"index":{int(attribute.value)}'
    return text
