"""The exporter: sends spans to a collector by OTLP over HTTP, in batches, from its own thread."""

from __future__ import annotations

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from cqs import __version__


def provider_of() -> TracerProvider:
    """Configured by the OTEL_* environment variables. Raises ValueError for one that can't be used. The caller shuts it
    down: the exit of the process does not."""
    ours = Resource({SERVICE_NAME: "cqs", SERVICE_VERSION: __version__})
    resource = Resource.create().merge(ours).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
