"""Logging in: attempts are counted, each login starts a new session, and the password is never logged or shown.

Each failed attempt is in the log of changes, except while logins are locked; otherwise a persistent attacker could push
everything else out of the log.
"""

from __future__ import annotations

import msgspec
from aiohttp import web

from admin.action_log import Line
from admin.answers import redirect, set_cookie
from admin.console import Console
from admin.formats import duration
from admin.forms import Form
from admin.session import AGE_MS_MAX, COOKIE
from admin.views import login
from admin.visit import Visit

_WRONG = "The user name or password is wrong."
_NAME_MAX = 100
_who = msgspec.json.Decoder(tuple[str, str])
_TRIED, _FORGIVEN = "tried", "forgiven"
"""Messages between a node's workers, so that the number of workers does not multiply the attempts."""


async def act(visit: Visit, form: Form) -> web.StreamResponse:
    """The requested page, with a new session; or the form again, with 401 or (locked) 429."""
    console, address = visit.console, visit.address
    name, goal = form.word("user")[:_NAME_MAX], login.goal_of(visit, form.text("next"))
    wait_ms = console.throttle.begin(name, address)
    if wait_ms:
        response = login.form(visit, next_path=goal, user=name, error=_locked(wait_ms), status=429)
        response.headers["Retry-After"] = str(-(-wait_ms // 1_000))
        return response
    told = msgspec.json.encode((name, address)).decode()
    await console.engine.fellows.ask(_TRIED, told)
    user = await console.accounts.user_with_password(name, form.text("password"))
    if user is None:
        await _log(visit, name, "wrong user or password")
        return login.form(visit, next_path=goal, user=name, error=_WRONG, status=401)
    console.throttle.forgive(name, address)
    await console.engine.fellows.ask(_FORGIVEN, told)
    if visit.viewer.user:
        await console.accounts.end_session(visit.viewer.user, visit.session.sid, visit.session.end_ms)
    response = redirect(goal)
    session = console.sessions.begin(user)
    set_cookie(visit, response, COOKIE, console.sessions.write(session), AGE_MS_MAX // 1_000)
    await _log(visit, user.name, "", user.role.value, user.account)
    return response


def listen(console: Console) -> None:
    """Counts attempts at the other workers of the node."""
    throttle = console.throttle

    async def tried(who: str) -> bytes:
        throttle.begin(*_who.decode(who))
        return b""

    async def forgiven(who: str) -> bytes:
        throttle.forgive(*_who.decode(who))
        return b""

    console.engine.fellows.answer(_TRIED, tried)
    console.engine.fellows.answer(_FORGIVEN, forgiven)


def _locked(wait_ms: int) -> str:
    return f"Too many attempts. Please wait {duration(-(-wait_ms // 1_000) * 1_000)}."


async def _log(visit: Visit, name: str, error: str, role: str = "", account: str = "") -> None:
    await visit.console.actions.add(
        Line(
            at_ms=visit.now_ms,
            who=name or "?",
            role=role,
            account=account,
            address=visit.address,
            action="LogIn",
            error=error,
        )
    )
