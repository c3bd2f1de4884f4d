"""OpenTelemetry traces, an optional extra (`pip install 'cqs-server[otel]'`, setting `traces`).

    traceparent of the request ──► span of the call ──┬── cache take        a span for each call of a layer
                                        │             └── store append
                                        └─ links: the traces that the messages carry (AWSTraceHeader, traceparent)

Tracing wraps the parts when they are built; when it is off nothing is wrapped, and no part knows of it. The standard
variables OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME and so on configure the exporter, the
sampling and the service name.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import structlog
from opentelemetry.sdk.trace import TracerProvider

from cqs.cache.interface import QueueCache
from cqs.store.interface import Store
from cqs.tracing.calls import TracedDispatcher
from cqs.tracing.layers import traced
from cqs.tracing.links import TracingWitness

CLOSE_S_MAX = 5.0
_log = structlog.get_logger("cqs.tracing")


class Tracing:
    """Wraps the parts of one server. `provider` decides where spans go."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("cqs")
        self.witness = TracingWitness()

    def cache(self, cache: QueueCache) -> QueueCache:
        """The cache with a span for each call."""
        return traced(cache, QueueCache, "cache", self._tracer)

    def store(self, store: Store) -> Store:
        """The store with a span for each call."""
        return traced(store, Store, "store", self._tracer)

    def dispatcher(self, *parts: object, **more: object) -> TracedDispatcher:
        """A traced dispatcher; takes the arguments of `Dispatcher`."""
        made = TracedDispatcher(*parts, **more)  # type: ignore[arg-type]
        made.trace_by(self._tracer)
        return made

    async def close(self) -> None:
        """Exports the remaining spans, within CLOSE_S_MAX: a collector that hangs does not keep the server from ending.
        The process does not wait for the thread at its exit."""
        loop, closed = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(closed.set)

        threading.Thread(target=shut_down, name="traces", daemon=True).start()
        try:
            await asyncio.wait_for(closed.wait(), CLOSE_S_MAX)
        except TimeoutError:
            _log.warning("last_spans_not_exported", waited_s=CLOSE_S_MAX)
