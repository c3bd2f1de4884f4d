"""The login page."""

from __future__ import annotations

from aiohttp import web

from admin.answers import redirect
from admin.visit import Visit

_DOORS = ("/login", "/log-out", "/log-out-everywhere")


async def show(visit: Visit) -> web.StreamResponse:
    """The form, or a redirect for users who need no login."""
    goal = goal_of(visit, visit.query("next"))
    if visit.is_logged_in:
        return redirect(goal)
    return form(visit, next_path=goal)


def form(visit: Visit, *, next_path: str, user: str = "", error: str = "", status: int = 200) -> web.StreamResponse:
    """The form, with what was entered before, except for the password."""
    return visit.page("login.html", status=status, next=next_path, user=user, error=error)


def goal_of(visit: Visit, wanted: str) -> str:
    """Where to go after the login: one of our pages, or the overview."""
    doors = [visit.links.path(path) for path in _DOORS]
    is_fine = visit.links.is_ours(wanted) and wanted.partition("?")[0] not in doors
    return wanted if is_fine else visit.links.to("/")
