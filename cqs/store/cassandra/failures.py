"""Translates the driver's errors into the store's: what happened, and whether a write may have taken effect.

    refused before anything was sent, or by the coordinator before it wrote     StoreUnavailable
    sent, and no answer that it failed                                           OutcomeUnknown (writes)
    a read that met too many tombstones or timed out                             TooMuchToRead: narrow the range, go on

Unless an error is known to be harmless it counts as sent: a wrong OutcomeUnknown costs a retry, the opposite mistake a
duplicate.
"""

from __future__ import annotations

from cassandra import (
    AuthenticationFailed,
    InvalidRequest,
    OperationTimedOut,
    ReadFailure,
    ReadTimeout,
    Unauthorized,
    Unavailable,
    UnresolvableContactPoints,
    WriteTimeout,
)
from cassandra.cluster import NoConnectionsAvailable, NoHostAvailable
from cassandra.protocol import IsBootstrappingErrorMessage, OverloadedErrorMessage

from cqs.errors import CqsError, OutcomeUnknown, StoreUnavailable
from cqs.plural import counted
from cqs.store.cassandra.statements import Kind

_NEVER_SENT = (
    Unavailable,
    NoConnectionsAvailable,
    OverloadedErrorMessage,
    IsBootstrappingErrorMessage,
    ConnectionRefusedError,
    InvalidRequest,
    Unauthorized,
    AuthenticationFailed,
)


_NO_POOL = "Host has been marked down or removed"


class TooMuchToRead(StoreUnavailable):
    """A read met more tombstones than the server allows, or timed out (possibly for other reasons)."""

    def __init__(self, text: str, *, is_timeout: bool = False) -> None:
        super().__init__(text)
        self.is_timeout = is_timeout


def told(error: Exception, kind: Kind, place: str, *, was_sent: bool = False) -> CqsError:
    """The error to raise `from error`. `place`: where Cassandra should be, for the text. `was_sent`: it was also sent
    in an earlier attempt or to another node, and the outcome of that is unknown."""
    if isinstance(error, CqsError):
        return error
    text = f"Cassandra at {place}: {reason_of(error)}"
    if kind is Kind.READ:
        if isinstance(error, ReadFailure | ReadTimeout | OperationTimedOut):
            return TooMuchToRead(text, is_timeout=not isinstance(error, ReadFailure))
        return StoreUnavailable(text)
    if was_never_sent(error) and not was_sent:
        return StoreUnavailable(f"{text} Nothing was written.")
    return OutcomeUnknown(f"{text} Whether the write took effect is not known.")


def was_never_sent(error: Exception) -> bool:
    """Whether it is certain that nothing was written."""
    if isinstance(error, NoHostAvailable):
        return all(_is_harmless(one) for one in _per_host(error))
    return _is_harmless(error)


def _is_harmless(error: object) -> bool:
    return isinstance(error, _NEVER_SENT) or "Pool is shutdown" in str(error)


def _per_host(error: NoHostAvailable) -> list[object]:
    return list(error.errors.values()) if isinstance(error.errors, dict) else []


def reason_of_node(error: Exception) -> str:
    """One line: why the only node that was asked did not answer."""
    if isinstance(error, NoHostAvailable) and (reasons := _per_host(error)):
        return "there is no connection to it." if _NO_POOL in str(reasons[0]) else str(reasons[0])
    return reason_of(error)


def reason_of(error: Exception) -> str:
    """The reason, in one line."""
    if isinstance(error, NoHostAvailable):
        reasons = {reason_of(one) for one in _per_host(error) if isinstance(one, Exception)}
        return "no node answers" + (f" ({'; '.join(sorted(reasons))})." if reasons else ".")
    if isinstance(error, Unavailable):
        return f"{_copies(error.required_replicas)} needed and {error.alive_replicas} alive."
    if isinstance(error, ReadTimeout | WriteTimeout):
        return f"{_copies(error.required_responses)} needed and {error.received_responses} answered in time."
    if isinstance(error, OperationTimedOut):
        return "no answer in time."
    if isinstance(error, UnresolvableContactPoints):
        return "there is no such host; correct its name."
    if isinstance(error, AuthenticationFailed):
        return "user or password is wrong."
    text = " ".join(str(error).split())
    return text[:300] or type(error).__name__


def _copies(count: int) -> str:
    return counted(count, "replica is", "replicas are")
