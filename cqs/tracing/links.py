"""Links a call's span to the traces of its messages: one call may handle messages of ten traces, so none of them can be
its parent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opentelemetry.trace import SpanContext, get_current_span

from cqs.cache.interface import Received
from cqs.events import NullWitness
from cqs.message import Message
from cqs.queue import Queue
from cqs.tracing.origins import of_traceparent, of_xray


class TracingWitness(NullWitness):
    """Is told of messages while the span of the call that sends or receives them is current."""

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        _tell(queue, messages)

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        _tell(queue, [one.message for one in received if one.message is not None])


def _tell(queue: Queue, messages: Sequence[Message]) -> None:
    span = get_current_span()
    if not span.is_recording():
        return
    span.set_attributes({"messaging.destination.name": queue.name, "messaging.batch.message_count": len(messages)})
    for context in _origins(messages):
        span.add_link(context)


def _origins(messages: Iterable[Message]) -> Iterable[SpanContext]:
    for message in messages:
        found = next((_w3c(one.value) for one in message.attributes if one.name == "traceparent"), None)
        found = found or (of_xray(message.trace_header) if message.trace_header else None)
        if found is not None:
            yield found


def _w3c(value: bytes) -> SpanContext | None:
    return of_traceparent(value.decode("utf-8", "replace"))
