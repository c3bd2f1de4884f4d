"""What one worker of a server contributes to the figures of its node, and how the shares of several are combined.

Message counts add up; peaks of a shared queue are the same for all workers, so the largest is used. The counts of a
replaced worker are lost here (`/metrics` keeps them apart, by its label `worker`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from cqs.metrics.node import NodeMetrics
from cqs.metrics.rings import NODE_SUMS

Recent = dict[str, float]


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """`node` and `queues` are the last ten minutes (`Ring.recent`), the latter by account and name; `waiting` is by
    account and name, too; calls are counted since the worker's start."""

    node: Recent
    queues: dict[str, Recent]
    waiting: dict[str, int]
    waiting_in_all: int
    calls: dict[str, int]
    failed: dict[str, int]


def share_of(metrics: NodeMetrics, waiting: Mapping[str, int], waiting_in_all: int, now_s: int) -> Share:
    """This worker's share; `waiting`: receives that wait, by account and name of the queue."""
    calls = metrics.calls.by_action
    failed = {action: sum(stats.failures.values()) for action, stats in calls.items()}
    return Share(
        node=metrics.ring.recent(now_s),
        queues={
            key_of(stats.account, stats.name): stats.ring.recent(now_s)
            for stats in metrics.queues
            if stats.ring is not None
        },
        waiting={name: count for name, count in waiting.items() if count},
        waiting_in_all=waiting_in_all,
        calls={action: stats.ok + failed[action] for action, stats in calls.items()},
        failed=failed,
    )


def key_of(account: str, name: str) -> str:
    return f"{account}/{name}"


def together(shares: Iterable[Share]) -> Share:
    """Combines all shares into one."""
    node: Recent = {}
    queues: dict[str, Recent] = {}
    waiting: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    in_all = 0
    for share in shares:
        _add(node, share.node)
        for name, recent in share.queues.items():
            _add(queues.setdefault(name, {}), recent)
        waiting.update(share.waiting)
        calls.update(share.calls)
        failed.update(share.failed)
        in_all += share.waiting_in_all
    return Share(node=node, queues=queues, waiting=waiting, waiting_in_all=in_all, calls=calls, failed=failed)


def _add(into: Recent, recent: Mapping[str, float]) -> None:
    for field, value in recent.items():
        before = into.get(field, 0.0)
        into[field] = before + value if field in NODE_SUMS else max(before, value)
