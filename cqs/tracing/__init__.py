"""OpenTelemetry traces, an extra (`pip install 'cqs-server[otel]'`, setting `traces`).

    traceparent of the request ──► span of the call ──┬── cache take        a span for each call of a layer
                                        │             └── store append
                                        └─ links: the traces that the messages carry (AWSTraceHeader, traceparent)

Everything here is put around the parts when they are built, and nothing when it is off: no part knows of it. Where the
spans go, how many of them, and what the server is called, is told as usual by OTEL_EXPORTER_OTLP_ENDPOINT,
OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME and their siblings.
"""

from __future__ import annotations

import asyncio

from opentelemetry.sdk.trace import TracerProvider

from cqs.cache.interface import QueueCache
from cqs.store.interface import Store
from cqs.tracing.calls import TracedDispatcher
from cqs.tracing.layers import traced
from cqs.tracing.links import TracingWitness


class Tracing:
    """What is put around the parts of one server. `provider` decides what becomes of spans."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("cqs")
        self.witness = TracingWitness()

    def cache(self, cache: QueueCache) -> QueueCache:
        """With a span for each call."""
        return traced(cache, QueueCache, "cache", self._tracer)

    def store(self, store: Store) -> Store:
        """With a span for each call."""
        return traced(store, Store, "store", self._tracer)

    def dispatcher(self, *parts: object, **more: object) -> TracedDispatcher:
        """Made of what any dispatcher is made of."""
        made = TracedDispatcher(*parts, **more)  # type: ignore[arg-type]
        made.trace_by(self._tracer)
        return made

    async def close(self) -> None:
        """Sends what is left, as long as the exporter allows."""
        await asyncio.to_thread(self._provider.shutdown)
