"""SendMessage, ReceiveMessage, DeleteMessage."""

from __future__ import annotations

from functools import partial

from cqs import digests
from cqs.api import attributes as queue_attributes
from cqs.api.actions import parameters
from cqs.api.actions.message_attributes import Wanted, attributes_of, trace_header_of, wire_attributes
from cqs.api.context import Context
from cqs.api.shapes.batches import SendMessageBatchRequestEntry
from cqs.api.shapes.messages import (
    DeleteMessageRequest,
    Message,
    ReceiveMessageRequest,
    ReceiveMessageResult,
    SendMessageRequest,
    SendMessageResult,
)
from cqs.errors import InvalidAttributeName
from cqs.message import Message as StoredMessage
from cqs.service import delete, receive, send
from cqs.service.deliver import Delivery
from cqs.service.draft_rules import Draft
from cqs.service.receive import ReceiveRequest

SYSTEM_ATTRIBUTES = frozenset(
    {
        "SenderId",
        "SentTimestamp",
        "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp",
        "SequenceNumber",
        "MessageDeduplicationId",
        "MessageGroupId",
        "AWSTraceHeader",
        "DeadLetterQueueSourceArn",
    }
)
_KNOWN_NAMES = SYSTEM_ATTRIBUTES | queue_attributes.NAMES
"""AttributeNames also accepts names of queue attributes, which messages do not have."""
_SEQUENCE_DIGITS = 20


async def send_message(context: Context, request: SendMessageRequest) -> SendMessageResult:
    """Raises what `cqs.service.send.send` raises."""
    queue = await context.queue(request.queue_url)
    sent = await send.send(context.engine, queue, draft_of(request), context.caller.sender_id)
    return SendMessageResult(
        message_id=sent.message_id,
        md5_of_message_body=sent.md5_of_body,
        md5_of_message_attributes=sent.md5_of_attributes,
        md5_of_message_system_attributes=sent.md5_of_system_attributes,
        sequence_number=sequence_text(sent.sequence),
    )


async def receive_message(context: Context, request: ReceiveMessageRequest) -> ReceiveMessageResult:
    """Raises what `cqs.service.receive.receive` raises. The messages go back to the queue if the answer can't be
    delivered. A receive that waited returns only what its caller may still receive at that time."""
    queue = await context.queue(request.queue_url)

    def is_still_wanted() -> bool:
        context.confirm(queue)
        return context.client.is_client_there()

    wanted_system = _wanted_system(request)
    wanted = Wanted(request.message_attribute_names) if request.message_attribute_names else None
    wish = ReceiveRequest(
        count_max=parameters.receive_count(request.max_number_of_messages),
        visibility_ms=parameters.optional_visibility_ms(request.visibility_timeout),
        wait_ms=parameters.wait_ms(request.wait_time_seconds),
        attempt_id=request.receive_request_attempt_id or "",
        receiver_id=context.caller.sender_id,
        account=context.caller.account,
    )
    deliveries = await receive.receive(context.engine, queue, wish, is_still_wanted, context.client.when_gone)
    if deliveries:
        context.undelivered = partial(receive.give_back, context.engine, queue, deliveries, wish.attempt_id)
    return ReceiveMessageResult(messages=[_message(delivery, wanted_system, wanted) for delivery in deliveries])


async def delete_message(context: Context, request: DeleteMessageRequest) -> None:
    queue = await context.queue(request.queue_url)
    await delete.delete(context.engine, queue, request.receipt_handle)


def draft_of(request: SendMessageRequest | SendMessageBatchRequestEntry) -> Draft:
    """Raises InvalidParameterValue for errors in the wire format; the service checks the rest."""
    return Draft(
        body=request.message_body,
        attributes=attributes_of(request.message_attributes),
        delay_ms=parameters.delay_ms(request.delay_seconds),
        trace_header=trace_header_of(request.message_system_attributes),
        group=request.message_group_id,
        dedup_id=request.message_deduplication_id,
    )


def sequence_text(sequence: int) -> str:
    """20 digits, so that texts sort like numbers; "" for no number."""
    return f"{sequence:0{_SEQUENCE_DIGITS}d}" if sequence else ""


def _wanted_system(request: ReceiveMessageRequest) -> frozenset[str]:
    """The names in the old parameter and in the new one, combined."""
    if not request.attribute_names and not request.message_system_attribute_names:
        return frozenset()
    names = frozenset((*(request.attribute_names or ()), *(request.message_system_attribute_names or ())))
    for name in names - _KNOWN_NAMES:
        raise InvalidAttributeName.unknown(name)
    return SYSTEM_ATTRIBUTES if "All" in names else names


def _message(delivery: Delivery, wanted_system: frozenset[str], wanted: Wanted | None) -> Message:
    message = delivery.message
    chosen = wanted.of(message.attributes) if wanted is not None and message.attributes else ()
    return Message(
        message_id=message.message_id,
        receipt_handle=delivery.handle,
        md5_of_body=digests.of_body(message),
        body=message.body,
        attributes=_wanted_attributes(delivery, wanted_system) if wanted_system else {},
        md5_of_message_attributes=digests.of_attributes(chosen) if chosen else "",
        message_attributes=wire_attributes(chosen) if chosen else {},
    )


def _wanted_attributes(delivery: Delivery, wanted: frozenset[str]) -> dict[str, str]:
    received = delivery.received
    known = system_attributes(delivery.message, received.receive_count, received.first_receive_ms)
    return {name: value for name, value in known.items() if name in wanted}


def system_attributes(message: StoredMessage, receive_count: int, first_receive_ms: int) -> dict[str, str]:
    """All system attributes that the message has. `receive_count` and `first_receive_ms` are those in its queue; the
    reported values also include the queues that received it before it became a dead letter."""
    receive_count += message.earlier_receives
    known = {
        "SenderId": message.sender_id,
        "SentTimestamp": str(message.sent_ms),
        "ApproximateReceiveCount": str(receive_count),
        "ApproximateFirstReceiveTimestamp": str(message.earlier_first_ms or first_receive_ms) if receive_count else "",
        "SequenceNumber": sequence_text(message.sequence),
        "MessageDeduplicationId": message.dedup_id or "",
        "MessageGroupId": message.group or "",
        "AWSTraceHeader": message.trace_header or "",
        "DeadLetterQueueSourceArn": message.source_arn or "",
    }
    return {name: value for name, value in known.items() if value}
