"""The metrics as JMX-style beans, as the CQS paper lists them, under its names and those of the first CQS.

    cqs:type=Queue,name=orders                          account 000000000000
    cqs:type=Queue,name=orders,account=111122223333     any other
    cqs:type=Node

Windows are ten minutes long, as in the first CQS (whose deletes counted receives; these count deletes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from prometheus_client.core import Metric as Family
from prometheus_client.core import UnknownMetricFamily
from prometheus_client.registry import Collector

from cqs.cache.counts import Counts
from cqs.identity import DEFAULT_ACCOUNT
from cqs.metrics.depths import age_s
from cqs.metrics.node import ratio_of
from cqs.metrics.shares import Share
from cqs.queue import QueueName

DOMAIN = "cqs"
Value = float | int | str


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The data for a bean: ten minutes of its ring, current depths, waiting receives."""

    recent: Mapping[str, float]
    counts: Counts
    waiting: int
    now_ms: int


class Attribute(msgspec.Struct, frozen=True):
    """One attribute of a bean. `alias`: its name in the first CQS."""

    name: str
    help: str
    read: Callable[[Facts], Value]
    alias: bool = False


class Bean(msgspec.Struct, frozen=True):
    """`keys` are the parts of its name after the domain, in order."""

    keys: Mapping[str, str]
    attributes: Mapping[str, Value | Mapping[str, int]]

    @property
    def name(self) -> str:
        return DOMAIN + ":" + ",".join(f"{key}={value}" for key, value in self.keys.items())


def _recent(field: str) -> Callable[[Facts], int]:
    return lambda facts: int(facts.recent.get(field, 0))


def _messages(facts: Facts) -> int:
    return facts.counts.ready + facts.counts.in_flight + facts.counts.delayed


QUEUE_ATTRIBUTES: tuple[Attribute, ...] = (
    Attribute("CacheHitRatio", "Share of received messages that the cache served; 1 = all.",
              lambda facts: ratio_of(facts.recent) if facts.recent else 1.0),
    Attribute("MessagesInQueue", "Messages visible, in flight and delayed.", _messages),
    Attribute("OldestMessageAge", "Seconds since the oldest visible message was sent; 0 = none.",
              lambda facts: age_s(facts.counts.oldest_ms, facts.now_ms)),
    Attribute("HiddenMessages", "Messages in flight.", lambda facts: facts.counts.in_flight),
    Attribute("VisibleMessages", "Messages available for receiving.", lambda facts: facts.counts.ready),
    Attribute("DelayedMessages", "Delayed messages that are not available yet.", lambda facts: facts.counts.delayed),
    Attribute("RecentNumberOfSends", "Messages sent.", _recent("sent"), True),
    Attribute("RecentNumberOfReceives", "Messages delivered to receivers.", _recent("received"), True),
    Attribute("RecentNumberOfEmptyReceives", "Receives that returned no message.", _recent("empty_receives"), True),
    Attribute("NumberOfMessagesDeleted", "Messages deleted.", _recent("deleted"), True),
    Attribute("QueueDepth", "The same as MessagesInQueue.", _messages, True),
    Attribute("OldestAvailableMessageTS", "When the oldest visible message was sent, Unix time in ms; 0 = none.",
              lambda facts: facts.counts.oldest_ms or 0, True),
    Attribute("NumberOfLongPollReceivesForQueue", "Long polls waiting on this node.",
              lambda facts: facts.waiting, True),
)  # fmt: skip
NODE_ATTRIBUTES: tuple[Attribute, ...] = (
    *(one for one in QUEUE_ATTRIBUTES if one.name != "NumberOfLongPollReceivesForQueue"),
    Attribute("NumberOfLongPollReceives", "Long polls waiting on this node.", lambda facts: facts.waiting, True),
    Attribute("NumberOfActivelyPendingLongPollReceives", "The same: a poll ends when its client disconnects.",
              lambda facts: facts.waiting, True),
    Attribute("NumberOfDeadLongPollReceives", "Always 0: polls end when clients disconnect.", lambda _: 0, True),
)  # fmt: skip
COMPOSITES = {
    "CallStats": "Calls since the start, by action.",
    "CallFailureStats": "Failed calls since the start, by action.",
}
"""Attributes of the node bean."""


def queue_bean(name: QueueName, facts: Facts) -> Bean:
    keys = {"type": "Queue", "name": name.name}
    if name.account not in ("", DEFAULT_ACCOUNT):
        keys["account"] = name.account
    return Bean(keys, {one.name: one.read(facts) for one in QUEUE_ATTRIBUTES})


def node_bean(share: Share, facts: Facts) -> Bean:
    """`share`: that of all workers of the node."""
    attributes: dict[str, Value | Mapping[str, int]] = {one.name: one.read(facts) for one in NODE_ATTRIBUTES}
    attributes["CallStats"] = share.calls
    attributes["CallFailureStats"] = share.failed
    return Bean({"type": "Node"}, attributes)


def as_json(beans: Iterable[Bean]) -> bytes:
    return msgspec.json.encode({"beans": [{"name": bean.name, **bean.attributes} for bean in beans]})


class BeanCollector(Collector):
    """The values under the names that jmx_exporter gives them by default: `domain_type_attribute`, the other keys as
    labels, a composite's key appended."""

    def __init__(self, beans: Iterable[Bean], *, is_lowercase: bool = False) -> None:
        self._beans = list(beans)
        self._is_lowercase = is_lowercase

    def collect(self) -> Iterator[Family]:
        families: dict[str, Family] = {}
        for bean in self._beans:
            labels = {key: value for key, value in bean.keys.items() if key != "type"}
            for name, value in _numbers(bean):
                shown = name.lower() if self._is_lowercase else name
                family = families.get(shown)
                if family is None:
                    family = families[shown] = UnknownMetricFamily(shown, name)
                family.add_sample(shown, labels, value)
        yield from families.values()


def _numbers(bean: Bean) -> Iterator[tuple[str, float]]:
    for name, value in bean.attributes.items():
        full = f"{DOMAIN}_{bean.keys['type']}_{name}"
        if isinstance(value, Mapping):
            for key, number in value.items():
                yield f"{full}_{key}", number
        elif not isinstance(value, str):
            yield full, value
