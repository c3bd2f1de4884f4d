"""Console sessions in a user's record: the current session generation, and the sessions that were logged out."""

from __future__ import annotations

import msgspec

from cqs.identity import EndedSession, User

ENDED_SESSIONS_MAX = 64
"""Logged-out sessions remembered per user; one more ends all sessions of the user."""


def without_sessions(user: User, **changes: object) -> User:
    """The user with these changes, logged out everywhere."""
    return msgspec.structs.replace(user, sessions=user.sessions + 1, ended=(), **changes)


def without_session(user: User, sid: str, until_ms: int, now_ms: int) -> User:
    """The user logged out of one session, whose cookie is valid until `until_ms`. Idempotent."""
    if any(one.sid == sid for one in user.ended):
        return user
    kept = (*(one for one in user.ended if one.until_ms > now_ms), EndedSession(sid, until_ms))
    return without_sessions(user) if len(kept) > ENDED_SESSIONS_MAX else msgspec.structs.replace(user, ended=kept)
