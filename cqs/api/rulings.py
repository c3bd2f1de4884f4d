"""Caches the decisions of enforced mode for the current second, so that a client's thousandth call within it costs one
lookup.

    way     key, address, TLS, user agent, referer, what proxies say  →  the caller with its circumstances
    ruling  that caller, action, the queue as it is now               →  allowed

A ruling depends on nothing else, and on nothing that can change: callers and queues are immutable. Setting a policy
creates a new `Queue`; changing a key or role creates a new `Caller`. Neither matches an entry of its predecessor, so
the cache needs no invalidation and can't miss one. Policies measure time in whole seconds, so all entries are dropped
when the second ends. Refusals are not cached: they are decided, and worded, each time.

Keys are the objects' ids. This is sound because each entry references its objects, so an id can't be reused while its
entry exists. Belongs to one event loop; bounded.
"""

from __future__ import annotations

from cqs.identity import Caller
from cqs.queue import Queue

KEPT_MAX = 4_096
Way = tuple[object, ...]


class Rulings:
    """The callers and the allowed calls of one second."""

    def __init__(self) -> None:
        self._at_s = -1
        self._callers: dict[Way, tuple[Caller, Caller]] = {}
        self._allowed: dict[tuple[int, str, int], tuple[Caller, Queue]] = {}

    def turn(self, at_s: int) -> None:
        """Sets the current second; drops the entries of any other."""
        if at_s != self._at_s:
            self._at_s = at_s
            self._callers.clear()
            self._allowed.clear()

    def caller(self, plain: Caller, way: Way) -> Caller | None:
        """`plain` with the circumstances of a way, if the same caller already came that way within this second."""
        kept = self._callers.get(way)
        return kept[1] if kept is not None and kept[0] is plain else None

    def keep_caller(self, plain: Caller, way: Way, full: Caller) -> None:
        if len(self._callers) >= KEPT_MAX:
            self._callers.clear()
        self._callers[way] = (plain, full)

    def is_allowed(self, caller: Caller, action: str, queue: Queue) -> bool:
        """Whether exactly this call was allowed within this second; False = unknown."""
        return (id(caller), action, id(queue)) in self._allowed

    def keep_allowed(self, caller: Caller, action: str, queue: Queue) -> None:
        if len(self._allowed) >= KEPT_MAX:
            self._allowed.clear()
        self._allowed[id(caller), action, id(queue)] = (caller, queue)
