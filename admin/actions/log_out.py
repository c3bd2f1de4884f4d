"""Logging out: this session, or all sessions of the user."""

from __future__ import annotations

from aiohttp import web

from admin.answers import log, redirect, set_cookie
from admin.forms import Form
from admin.session import AGE_MS_MAX, COOKIE
from admin.visit import Told, Visit


async def here(visit: Visit, form: Form) -> web.StreamResponse:
    """Ends this session permanently. Raises IdentityError, StoreUnavailable, OutcomeUnknown."""
    if visit.viewer.user:
        await visit.console.accounts.end_session(visit.viewer.user, visit.session.sid, visit.session.end_ms)
    await log(visit, "LogOut", Told())
    return _leave(visit)


async def everywhere(visit: Visit, form: Form) -> web.StreamResponse:
    """Ends all sessions of the user. Raises IdentityError, StoreUnavailable, OutcomeUnknown."""
    if visit.viewer.user:
        await visit.console.accounts.end_sessions(visit.viewer.user)
    await log(visit, "LogOutEverywhere", Told())
    return _leave(visit)


def _leave(visit: Visit) -> web.StreamResponse:
    sessions = visit.console.sessions
    response = redirect(visit.links.to("/login"))
    set_cookie(visit, response, COOKIE, sessions.write(sessions.begin()), AGE_MS_MAX // 1_000)
    return response
