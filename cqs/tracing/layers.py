"""A span for each call of a layer within a traced API call; background loops create none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from opentelemetry.trace import SpanKind, Tracer, get_current_span
from opentelemetry.trace.status import StatusCode

from cqs.metrics.timed import Wrapped

T = TypeVar("T")
_Call = Callable[..., Awaitable[object]]


def traced(inner: T, contract: type, layer: str, tracer: Tracer) -> T:
    """`inner`, traced. `contract` is the Protocol that it implements."""
    return cast(T, Wrapped(inner, contract, lambda name, call: _traced(call, f"{layer} {name}", tracer)))


def _traced(call: _Call, name: str, tracer: Tracer) -> _Call:
    async def spanned(*args: object, **named: object) -> object:
        if not get_current_span().is_recording():
            return await call(*args, **named)
        with tracer.start_as_current_span(
            name, kind=SpanKind.CLIENT, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                return await call(*args, **named)
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)
                raise

    return spanned
