"""One message: its body in several ways, what it carries, where it has been; taken away as a file."""

from __future__ import annotations

from aiohttp import web

from admin.bodies import KINDS, attribute_text, shown
from admin.exports import attachment
from admin.snippets import Params, snippets, url_of
from admin.visit import Visit
from cqs import digests
from cqs.message import Message
from cqs.queue import Queue
from cqs.service.peek import Peeked, find

ID_LENGTH_MAX = 200


async def show(visit: Visit) -> web.StreamResponse:
    """The message; ResourceNotFound when it is gone (raised)."""
    queue = visit.queue("GetMessage")
    found = await _found(visit, queue)
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
        body=shown(message.body, visit.query("view")),
        kinds=KINDS,
        attributes=[(one, attribute_text(one)) for one in message.attributes],
        md5=digests.of_body(message),
        life=lately.life(queue, message.address),
        expires_ms=message.sent_ms + queue.settings.retention_ms,
        snippets=snippets(visit, ("SendMessage", send_params(url_of(visit, queue), message))),
    )


async def as_file(visit: Visit) -> web.StreamResponse:
    """The body as it is, never to be shown by a browser."""
    queue = visit.queue("GetMessage")
    message = (await _found(visit, queue)).message
    name = f"{queue.name}-{message.message_id}.txt"
    return attachment(message.body.encode("utf-8", "surrogatepass"), name, "application/octet-stream")


def send_params(url: str, message: Message) -> Params:
    """SendMessage's parameters that send the same again."""
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


async def _found(visit: Visit, queue: Queue) -> Peeked:
    return await find(visit.console.engine, queue, visit.parts["message"][:ID_LENGTH_MAX])
