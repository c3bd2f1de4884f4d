"""Times every call of the cache's and the store's contract, for the histograms by layer.

A proxy with the same contract that forwards its calls to the inner object and times them (about half a microsecond
each). Calls that do not wait (`lease_soon`), stream (`scan`) or are properties (`rows`) are forwarded untimed.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from time import perf_counter_ns
from typing import TypeVar, cast

from cqs.metrics.declarations import Metric
from cqs.metrics.histogram import Histogram

T = TypeVar("T")
_Call = Callable[..., Awaitable[object]]


class CallTimes:
    """How long one kind of call took when it succeeded, and how often it failed."""

    __slots__ = ("duration", "errors")

    def __init__(self, metric: Metric) -> None:
        self.duration = Histogram.of(metric)
        self.errors = 0


class LayerTimes:
    """The call times of one layer, by the name of the call."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.by_call: dict[str, CallTimes] = {}


class Wrapped:
    """Wraps each call of the contract that waits; `around` gets the call's name and the call."""

    def __init__(self, inner: object, contract: type, around: Callable[[str, _Call], _Call]) -> None:
        self._inner = inner
        for name in dir(contract):
            declared = inspect.getattr_static(contract, name)
            if not name.startswith("_") and inspect.isfunction(declared):
                call = getattr(inner, name)
                setattr(self, name, around(name, call) if inspect.iscoroutinefunction(declared) else call)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def timed(inner: T, contract: type, times: LayerTimes) -> T:
    """`inner`, timed. `contract` is the Protocol it implements."""
    return cast(T, Wrapped(inner, contract, lambda name, call: _timed(call, times.by_call, name, times.metric)))


def _timed(call: _Call, by_call: dict[str, CallTimes], name: str, metric: Metric) -> _Call:
    times = by_call[name] = CallTimes(metric)
    observe = times.duration.observe

    async def measured(*args: object, **named: object) -> object:
        started_ns = perf_counter_ns()
        try:
            answer = await call(*args, **named)
        except Exception:
            times.errors += 1
            raise
        observe(perf_counter_ns() - started_ns)
        return answer

    return measured
