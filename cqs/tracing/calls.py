"""A span for each API call."""

from __future__ import annotations

import asyncio

from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanKind, Tracer, get_current_span, set_span_in_context
from opentelemetry.trace.status import StatusCode

from cqs.api.dispatch import Dispatcher
from cqs.api.request import Head, Reply, Request, head_of
from cqs.tracing.origins import of_traceparent, of_xray

SERVER_ERROR_MIN = 500


class TracedDispatcher(Dispatcher):
    """A dispatcher whose calls are spans."""

    _tracer: Tracer

    def trace_by(self, tracer: Tracer) -> None:
        """Call once, before the first request."""
        self._tracer = tracer
        self._record = self._note

    async def dispatch(self, request: Request) -> Reply:
        """Runs in its own task: the current span is a context variable, and a lane may have no context of its own."""
        return await asyncio.ensure_future(self._traced(request))

    async def _traced(self, request: Request) -> Reply:
        head = head_of(request.headers) if request.head is None else request.head
        parent = parent_of(head)
        with self._tracer.start_as_current_span("sqs", parent, SpanKind.SERVER) as span:
            reply = await super().dispatch(request)
            if span.is_recording():
                span.set_attribute("http.response.status_code", reply.status)
                if reply.status >= SERVER_ERROR_MIN:
                    span.set_status(StatusCode.ERROR)
            return reply

    def _note(self, action: str, code: str, took_ns: int) -> None:
        self._engine.metrics.calls.record(action, code, took_ns)
        span = get_current_span()
        if span.is_recording():
            span.update_name(f"sqs {action or 'unreadable'}")
            span.set_attributes({"messaging.system": "aws_sqs", "rpc.method": action})
            if code:
                span.set_attribute("error.type", code)


def parent_of(head: Head) -> Context:
    """The caller's span, if the request names one."""
    found = of_traceparent(_text(head, b"traceparent")) or of_xray(_text(head, b"x-amzn-trace-id"))
    return Context() if found is None else set_span_in_context(NonRecordingSpan(found), Context())


def _text(head: Head, name: bytes) -> str:
    return head.get(name, b"").decode("latin-1")
