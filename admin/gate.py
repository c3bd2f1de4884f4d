"""Who is let in, decided before any page is looked up.

is there a password?
  no    from this machine, by one of its names, through no proxy ──► a nameless administrator, and a banner
        from anywhere else ──► 403, which says how to set a password
  yes   the session's user exists, is enabled, and is unchanged since the login ──► that user
        else ──► nobody: the login page, and nothing else
"""

from __future__ import annotations

from aiohttp import web

from admin.console import Console
from admin.csrf import is_from_this_machine
from admin.session import COOKIE, FLASH_COOKIE, Session
from admin.viewer import Viewer, local_viewer, viewer_of
from admin.visit import Visit
from cqs.errors import AccessDenied
from cqs.identity import Role, User

NOT_HERE = (
    "The console answers on this machine only, by the name localhost or 127.0.0.1, until a user has a password. "
    "Set one there under Users, or with `cqs user add`."
)


async def admit(console: Console, request: web.Request) -> Visit:
    """The visit; nobody's (`is_logged_in` False) when a login is required. Raises AccessDenied when the console may not
    be used from there, StoreUnavailable."""
    users = {user.name: user for user in (await console.accounts.identities()).users}
    is_locked = any(user.password_hash and user.is_enabled for user in users.values())
    if not is_locked and not is_from_this_machine(request):
        raise AccessDenied(NOT_HERE)
    session = console.sessions.read(request.cookies.get(COOKIE, ""))
    user = _user_of(session, users)
    if session is None or (session.user and user is None):
        session = console.sessions.begin()
    return Visit(
        request=request,
        parts=request.match_info,
        console=console,
        session=session,
        viewer=_viewer(console, user, is_locked=is_locked),
        is_locked=is_locked,
        is_logged_in=user is not None or not is_locked,
        flash=console.sessions.read_flash(request.cookies.get(FLASH_COOKIE, ""), session),
    )


def _user_of(session: Session | None, users: dict[str, User]) -> User | None:
    user = users.get(session.user) if session is not None and session.user else None
    if user is None or session is None or not user.is_enabled or not session.is_of(user):
        return None
    return user if user.password_hash else None


def _viewer(console: Console, user: User | None, *, is_locked: bool) -> Viewer:
    home = console.about.home
    if user is not None:
        return viewer_of(user, home)
    return Viewer(account=home, role=Role.READ_ONLY) if is_locked else local_viewer(home)
