"""What enforced mode has found out within the present second, so that a client's thousandth call of it costs a look.

    way     key, address, TLS, user agent, referer, what proxies say  →  the caller with its circumstances
    ruling  that caller, action, queue as it is now                   →  may

A ruling depends on nothing else, and on nothing that could change under it: callers and queues are immutable. A policy
that is set makes a new `Queue`, a key or role that is changed a new `Caller`, and neither finds what was known of the
one before, so that nothing must be told to this cache and nothing can be forgotten to be told. Policies know of time
in whole seconds; with the second all of it is dropped. A refusal is not kept: it is found out, and worded, each time.

Keys are the objects' ids, which is sound because an entry holds its objects: no id is given away again before its
entry is gone. Belongs to one event loop; bounded.
"""

from __future__ import annotations

from cqs.identity import Caller
from cqs.queue import Queue

KEPT_MAX = 4_096
Way = tuple[object, ...]


class Rulings:
    """The callers and what they may, of one second."""

    def __init__(self) -> None:
        self._at_s = -1
        self._callers: dict[Way, tuple[Caller, Caller]] = {}
        self._allowed: dict[tuple[int, str, int], tuple[Caller, Queue]] = {}

    def turn(self, at_s: int) -> None:
        """The present second; drops what is of another one."""
        if at_s != self._at_s:
            self._at_s = at_s
            self._callers.clear()
            self._allowed.clear()

    def caller(self, plain: Caller, way: Way) -> Caller | None:
        """`plain` with the circumstances of a way, if it came that way in this second."""
        kept = self._callers.get(way)
        return kept[1] if kept is not None and kept[0] is plain else None

    def keep_caller(self, plain: Caller, way: Way, full: Caller) -> None:
        if len(self._callers) >= KEPT_MAX:
            self._callers.clear()
        self._callers[way] = (plain, full)

    def is_allowed(self, caller: Caller, action: str, queue: Queue) -> bool:
        """Whether exactly this was allowed in this second; False = not known."""
        return (id(caller), action, id(queue)) in self._allowed

    def keep_allowed(self, caller: Caller, action: str, queue: Queue) -> None:
        if len(self._allowed) >= KEPT_MAX:
            self._allowed.clear()
        self._allowed[id(caller), action, id(queue)] = (caller, queue)
