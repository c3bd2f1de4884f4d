"""Sessions of the console as a user's record keeps them: how many generations there were, and which were logged out."""

from __future__ import annotations

import msgspec

from cqs.identity import EndedSession, User

ENDED_SESSIONS_MAX = 64
"""Logged-out sessions kept of one user; one more, and all sessions of the user end."""


def without_sessions(user: User, **changes: object) -> User:
    """Changed, and logged out everywhere."""
    return msgspec.structs.replace(user, sessions=user.sessions + 1, ended=(), **changes)


def without_session(user: User, sid: str, until_ms: int, now_ms: int) -> User:
    """Logged out of one session, whose cookie would last until `until_ms`. Idempotent."""
    if any(one.sid == sid for one in user.ended):
        return user
    kept = (*(one for one in user.ended if one.until_ms > now_ms), EndedSession(sid, until_ms))
    return without_sessions(user) if len(kept) > ENDED_SESSIONS_MAX else msgspec.structs.replace(user, ended=kept)
