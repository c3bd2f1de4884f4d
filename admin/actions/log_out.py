"""Logging out: here, or wherever the user is logged in."""

from __future__ import annotations

from aiohttp import web

from admin.answers import log, redirect, set_cookie
from admin.forms import Form
from admin.session import AGE_MS_MAX, COOKIE
from admin.visit import Visit


async def here(visit: Visit, form: Form) -> web.StreamResponse:
    """Ends this session."""
    await log(visit, "LogOut")
    return _leave(visit)


async def everywhere(visit: Visit, form: Form) -> web.StreamResponse:
    """Ends all sessions of the user, on every node. Raises IdentityError, StoreUnavailable, OutcomeUnknown."""
    if visit.viewer.user:
        await visit.console.accounts.set_user_enabled(visit.viewer.user, True)
    await log(visit, "LogOutEverywhere")
    return _leave(visit)


def _leave(visit: Visit) -> web.StreamResponse:
    sessions = visit.console.sessions
    sessions.end(visit.session)
    response = redirect(visit.links.to("/login"))
    set_cookie(visit, response, COOKIE, sessions.write(sessions.begin()), AGE_MS_MAX // 1_000)
    return response
