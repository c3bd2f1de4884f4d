"""Traces, collected by the SDK's in-memory exporter: a span for each call and each layer below it, in the caller's
trace."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode, get_current_span

from cqs import observers
from cqs.api.access import OpenAccess
from cqs.api.origins import Origins
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.config.load import load
from cqs.errors import CannotStart, ConfigError, StoreUnavailable
from cqs.tracing import Tracing
from cqs.tracing.origins import of_traceparent, of_xray
from cqs.tracing.provider import provider_of
from cqs.witnesses import Witnesses
from tests.protocol.world import STANDARD, World, json_request, make_world, wire_of

TRACE, SPAN = "5759e988bd862e3fe1be46a994272793", "53995c3f42cd8ad8"
TRACEPARENT = f"00-{TRACE}-{SPAN}-01"
XRAY = f"Root=1-{TRACE[:8]}-{TRACE[8:]};Parent={SPAN};Sampled=1"


@dataclass(frozen=True)
class Traced:
    """A world whose calls create spans, and the finished spans."""

    world: World
    exporter: InMemorySpanExporter

    async def call(self, action: str, headers: Sequence[tuple[bytes, bytes]] = (), **members: object) -> None:
        body = json.dumps(members | {"QueueUrl": STANDARD}).encode()
        await self.world.dispatcher.dispatch(json_request(action, body, *headers))

    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def call_span(self) -> ReadableSpan:
        """Returns the span of the only call."""
        (span,) = [span for span in self.spans() if span.kind is SpanKind.SERVER]
        return span


@pytest.fixture
async def traced() -> AsyncIterator[Traced]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = Tracing(provider)
    world = await make_world()
    engine = world.bench.engine
    engine = replace(
        engine,
        cache=tracing.cache(engine.cache),
        store=tracing.store(engine.store),
        witness=Witnesses(engine.witness, tracing.witness),
    )
    dispatcher = tracing.dispatcher(
        engine, OpenAccess(), RequestIds(random.Random(1)), origins=Origins(), base_urls=BaseUrls()
    )
    exporter.clear()
    yield Traced(replace(world, bench=replace(world.bench, engine=engine), dispatcher=dispatcher), exporter)
    await tracing.close()


def context_of(span: ReadableSpan) -> SpanContext:
    found = span.get_span_context()
    assert found is not None
    return found


async def test_a_call_is_a_span_in_the_callers_trace_and_layers_are_below_it(traced: Traced) -> None:
    await traced.call("SendMessage", [(b"traceparent", TRACEPARENT.encode())], MessageBody="hello")

    span = traced.call_span()
    below = [one for one in traced.spans() if one is not span]
    assert span.name == "sqs SendMessage"
    assert span.parent is not None and f"{span.parent.span_id:016x}" == SPAN
    assert span.attributes is not None
    assert span.attributes["messaging.destination.name"] == "orders"
    assert span.attributes["http.response.status_code"] == 200
    assert {one.name for one in below} >= {"store append", "cache put"}
    assert {f"{context_of(one).trace_id:032x}" for one in traced.spans()} == {TRACE}
    assert all(one.parent is not None and one.parent.span_id == context_of(span).span_id for one in below)


async def test_without_a_caller_the_call_begins_a_trace(traced: Traced) -> None:
    await traced.call("SendMessage", [(b"traceparent", b"00-nonsense")], MessageBody="hello")

    assert traced.call_span().parent is None


async def test_an_xray_header_is_a_caller_too(traced: Traced) -> None:
    await traced.call("GetQueueAttributes", [(b"x-amzn-trace-id", XRAY.encode())])

    assert f"{context_of(traced.call_span()).trace_id:032x}" == TRACE


async def test_sends_and_receives_are_linked_to_what_their_messages_carry(traced: Traced) -> None:
    header = {"AWSTraceHeader": {"DataType": "String", "StringValue": XRAY}}
    await traced.call("SendMessage", MessageBody="hello", MessageSystemAttributes=header)
    sent = traced.call_span()
    traced.exporter.clear()
    attribute = {"traceparent": {"DataType": "String", "StringValue": f"00-{'1' * 32}-{'2' * 16}-01"}}
    await traced.call("SendMessage", MessageBody="hello", MessageAttributes=attribute)
    traced.exporter.clear()

    await traced.call("ReceiveMessage", MaxNumberOfMessages=10)

    received = traced.call_span()
    assert [f"{link.context.trace_id:032x}" for link in sent.links] == [TRACE]
    assert {f"{link.context.trace_id:032x}" for link in received.links} == {TRACE, "1" * 32}
    assert received.attributes is not None and received.attributes["messaging.batch.message_count"] == 2


async def test_a_call_that_is_refused_says_why_and_is_no_error_of_ours(traced: Traced) -> None:
    await traced.call("SendMessage", MessageBody="")

    span = traced.call_span()
    assert span.attributes is not None and span.attributes["error.type"] == "MissingParameter"
    assert span.status.status_code is StatusCode.UNSET


async def test_a_layer_that_fails_is_an_error(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("no quorum")

    monkeypatch.setattr(traced.world.bench.engine.store, "append", away)
    await traced.call("SendMessage", MessageBody="hello")

    assert traced.call_span().status.status_code is StatusCode.ERROR


async def test_loops_beside_the_calls_make_no_spans(traced: Traced) -> None:
    await traced.world.bench.engine.store.highest_address()

    assert traced.spans() == []


async def test_calls_of_one_connection_are_traces_of_their_own(traced: Traced) -> None:
    """The lanes create the contexts in which calls run: nothing may leak from one into the next."""
    wires = [
        wire_of(json_request("SendMessage", json.dumps({"QueueUrl": STANDARD, "MessageBody": str(place)}).encode()))
        for place in range(8)
    ]
    async with traced.world.listening() as door:
        await asyncio.gather(*(door.exchange(wire) for wire in wires))

    calls = [span for span in traced.spans() if span.kind is SpanKind.SERVER]
    assert len(calls) == 8
    assert all(span.parent is None for span in calls)
    assert len({context_of(span).trace_id for span in calls}) == 8
    assert not get_current_span().is_recording()


@pytest.mark.parametrize(
    "text",
    ["", "00", f"ff-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01",
     f"{TRACEPARENT}-more", TRACEPARENT.upper(), TRACEPARENT.replace("5", "٥"), "é" * 9_000],
)  # fmt: skip
def test_what_is_no_traceparent_is_no_trace(text: str) -> None:
    assert of_traceparent(text) is None


@pytest.mark.parametrize(
    "text", ["", ";;==", f"Root=1-{TRACE};Parent={SPAN}", f"Root=1-{TRACE[:8]}-{TRACE[8:]}", f"Root=1-{'0' * 8}-x"]
)
def test_what_is_no_xray_header_is_no_trace(text: str) -> None:
    assert of_xray(text) is None


def test_a_later_version_of_traceparent_is_read_as_far_as_it_is_alike() -> None:
    found = of_traceparent(f"01-{TRACE}-{SPAN}-00-more")

    assert found is not None and not found.trace_flags.sampled


def test_off_costs_nothing_and_loads_nothing() -> None:
    loaded = "import cqs.server, sys; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"

    assert subprocess.run([sys.executable, "-c", loaded]).returncode == 0
    assert observers.tracing_of(load({}, {}).config) is None


def test_without_the_extra_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cqs.tracing", None)

    with pytest.raises(CannotStart, match="otel"):
        observers.tracing_of(load({"traces": "otlp"}, {}).config)


def test_a_variable_that_can_not_be_used_stops_the_start_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "0")

    with pytest.raises(ConfigError, match=r"^traces: a variable OTEL_\* .* max_queue_size"):
        observers.tracing_of(load({"traces": "otlp"}, {}).config)


async def test_a_collector_that_hangs_does_not_keep_the_server_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(SpanProcessor):
        def shutdown(self) -> None:
            over.wait()

    over, provider = threading.Event(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Hanging())
    monkeypatch.setattr("cqs.tracing.CLOSE_S_MAX", 0.05)

    await Tracing(provider).close()

    assert [thread.daemon for thread in threading.enumerate() if thread.name == "traces"] == [True]
    over.set()


def test_exits_wait_for_no_collector() -> None:
    assert provider_of()._atexit_handler is None
