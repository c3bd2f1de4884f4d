"""Conditional writes whose answer may be lost.

A conditional write that timed out may have happened. Retrying is safe, since the condition then no longer holds; but
"not applied" may then mean "applied by my own first attempt". So the caller says how to recognize its own write.

The writes of the catalogue, which queue a name is, are decided by all data centres, and by this one alone while too few
replicas are alive for that: the others are lost, or the link to them. With `is_each` it is refused then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from cassandra import Unavailable

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.store.cassandra.session import Decision, Session, Write
from cqs.store.cassandra.statements import CATALOGUE

ATTEMPTS_MAX = 3


async def decide(
    session: Session, writes: Sequence[Write], is_ours: Callable[[], Awaitable[bool]]
) -> tuple[bool, Decision]:
    """Whether this call's writes are in effect, and the last answer. `is_ours` is called only after an attempt without
    an answer. Raises StoreUnavailable, OutcomeUnknown."""
    for attempt in range(ATTEMPTS_MAX):
        try:
            decision = await _decided(session, writes)
            return decision.is_applied or (attempt > 0 and await is_ours()), decision
        except OutcomeUnknown:
            if attempt == ATTEMPTS_MAX - 1:
                raise
        except StoreUnavailable as error:
            if attempt == 0:
                raise
            raise OutcomeUnknown(f"An earlier attempt may have taken effect. {error}") from error
    raise AssertionError


async def _decided(session: Session, writes: Sequence[Write]) -> Decision:
    try:
        return await session.decide(writes)
    except StoreUnavailable as error:
        is_catalogue = not CATALOGUE.isdisjoint(one.statement for one in writes)
        if not (is_catalogue and session.may_decide_alone and isinstance(error.__cause__, Unavailable)):
            raise
    return await session.decide(writes, is_here=True)
