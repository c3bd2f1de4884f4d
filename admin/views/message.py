"""One message: its body in several forms, its attributes and its history; the body as a download."""

from __future__ import annotations

from aiohttp import web

from admin.bodies import KINDS, attribute_text, shown
from admin.cqs_words import Params
from admin.exports import attachment
from admin.snippets import Snippets, of_each, snippets, url_of
from admin.visit import Visit
from admin.where import where_of
from cqs import digests, ids
from cqs.cache.entry import State
from cqs.errors import ResourceNotFound
from cqs.message import Message
from cqs.queue import Queue
from cqs.service.chosen import Change
from cqs.service.peek import Peeked, find

ID_LENGTH_MAX = 200


async def show(visit: Visit) -> web.StreamResponse:
    """The message; if it no longer exists, what is still known about it."""
    queue = visit.queue("GetMessage")
    try:
        found = await _found(visit, queue)
    except ResourceNotFound as error:
        return await _gone(visit, queue, str(error))
    message = found.message
    lately = visit.console.lately
    holders = lately.holders(queue, [message.address])
    return visit.page(
        "message.html",
        queue=queue,
        tab="messages",
        found=found,
        message=message,
        holder=holders.get(message.address),
        names=await visit.names(),
        body=shown(message.body, visit.query("view")),
        kinds=KINDS,
        attributes=[(one, attribute_text(one)) for one in message.attributes],
        md5=digests.of_body(message),
        life=lately.life(queue, message.address),
        expires_ms=message.sent_ms + queue.settings.retention_ms,
        address=ids.text_of(message.address),
        snippets=snippets(visit, ("SendMessage", send_params(url_of(visit, queue), message))),
        acts=_acts(visit, queue, found),
    )


async def in_journal(visit: Visit) -> web.StreamResponse:
    """The message's events in the event journal, even if it no longer exists; only on request, because it reads files.
    A page of its own, or a part of the message's page."""
    queue = visit.queue("GetMessage")
    folder = visit.console.about.journal
    address = visit.parts["message"][:ID_LENGTH_MAX].lower()
    is_there = folder is not None and ids.parse(address) is not None
    found = None
    if folder is not None and is_there:
        found = await visit.console.searches.search(folder, address, queue.account)
    return visit.page("journal.html", queue=queue, tab="messages", address=address, found=found, is_still=True)


async def as_file(visit: Visit) -> web.StreamResponse:
    """The body unchanged, never displayed by a browser."""
    queue = visit.queue("GetMessage")
    message = (await _found(visit, queue)).message
    name = f"{queue.name}-{message.message_id}.txt"
    return attachment(message.body.encode("utf-8", "surrogatepass"), name, "application/octet-stream")


def send_params(url: str, message: Message) -> Params:
    """SendMessage parameters that send the same message again."""
    params: dict[str, object] = {"QueueUrl": url, "MessageBody": message.body}
    if message.attributes:
        params["MessageAttributes"] = {
            one.name: {
                "DataType": one.data_type,
                "BinaryValue" if one.is_binary else "StringValue": attribute_text(one),
            }
            for one in message.attributes
        }
    if message.group is not None:
        params["MessageGroupId"] = message.group
    if message.dedup_id is not None:
        params["MessageDeduplicationId"] = message.dedup_id
    return params


def _acts(visit: Visit, queue: Queue, found: Peeked) -> Snippets:
    url, message_id = url_of(visit, queue), found.message.message_id
    one = {"QueueUrl": url, "MessageIds": [message_id]}
    acts: list[tuple[str, str, Params]] = [("Resend", "ResendMessage", {"QueueUrl": url, "MessageId": message_id})]
    if found.state is State.IN_FLIGHT:
        acts.append(("Make visible now", "ChangeMessages", one | {"Change": Change.REVEAL.value}))
        hide = one | {"Change": Change.HIDE.value, "VisibilityTimeout": 300}
        acts.append(("Hide for longer", "ChangeMessages", hide))
    elif found.state is State.DELAYED and not queue.settings.is_fifo:
        acts.append(("Send now", "ChangeMessages", one | {"Change": Change.HASTEN.value}))
    acts.append(("Delete", "ChangeMessages", one | {"Change": Change.DELETE.value}))
    return of_each(visit, *acts)


async def _gone(visit: Visit, queue: Queue, problem: str) -> web.StreamResponse:
    address = visit.parts["message"][:ID_LENGTH_MAX].lower()
    number = ids.parse(address)
    life = visit.console.lately.life(queue, number) if number is not None else []
    return visit.page(
        "message_gone.html",
        status=404,
        queue=queue,
        where=await where_of(visit, queue),
        tab="messages",
        address=address,
        life=life,
        names=await visit.names(),
        problem=problem,
    )


async def _found(visit: Visit, queue: Queue) -> Peeked:
    return await find(visit.console.engine, queue, visit.parts["message"][:ID_LENGTH_MAX])
