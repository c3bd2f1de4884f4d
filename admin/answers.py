"""Responses other than pages: files, redirects with a message, errors in words, cookies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from admin.action_log import Line
from admin.console import CONSOLE
from admin.forms import Form
from admin.gate import admit
from admin.session import AGE_MS_MAX, COOKIE, FLASH_COOKIE, FLASH_MS_MAX, Flash
from admin.visit import Done, Told, Visit
from cqs.errors import AccessDenied, CqsError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_YEAR = "public, max-age=31536000, immutable"
EXPIRED = "This page was out of date, so nothing was done. It has been refreshed: please try again."
_WORDS = {404: "There is no such page.", 405: "This page does not accept that method."}


async def static(request: web.Request) -> web.StreamResponse:
    """A script, style or picture. Available to anybody who may see the login page."""
    asset = request.app[CONSOLE].assets.get(request.match_info["name"])
    if asset is None:
        raise web.HTTPNotFound
    is_packed = "gzip" in request.headers.get("Accept-Encoding", "")
    response = web.Response(body=asset.packed if is_packed else asset.plain)
    response.headers["Content-Type"] = asset.content_type
    response.headers["Cache-Control"] = _YEAR if request.query_string == asset.digest else "no-cache"
    response.headers["Vary"] = "Accept-Encoding"
    if is_packed:
        response.headers["Content-Encoding"] = "gzip"
    return response


def redirect(path: str) -> web.Response:
    """After a POST: the browser GETs this path."""
    return web.Response(status=303, headers={"Location": path})


def to_login(visit: Visit) -> web.StreamResponse:
    """The login page, which leads back here. A link from another site sends no cookie (SameSite=Strict), so such a
    request is repeated once from this page, which does send it."""
    request = visit.request
    if visit.is_refresh:
        return web.Response(status=401, headers={"HX-Refresh": "true"})
    if request.headers.get("Sec-Fetch-Site") == "cross-site" and request.method == "GET":
        return visit.page("again.html", address=visit.here())
    goal = visit.here() if request.method == "GET" else ""
    return redirect(visit.links.to("/login", next=goal if goal != visit.links.to("/") else ""))


def expired(visit: Visit) -> web.StreamResponse:
    """The form's token does not belong to this session: nothing was done."""
    if not visit.is_logged_in:
        return to_login(visit)
    return visit.page("error.html", status=403, title="Out of date", text=EXPIRED)


def go_on(visit: Visit, done: Done) -> web.Response:
    """Redirects to the page after the action, which shows what was done."""
    key_id, secret = done.key
    return _flashing(visit, redirect(done.path), Flash(done.text, key_id=key_id, secret=secret))


def back(visit: Visit, form: Form, text: str) -> web.Response:
    """Redirects to the page with the form, which shows why nothing was done."""
    return _flashing(visit, redirect(origin_of(visit, form)), Flash(text, is_error=True))


def origin_of(visit: Visit, form: Form) -> str:
    """The page that a form says it is on, if that is one of ours."""
    wanted = form.text("back")
    return wanted if visit.links.is_ours(wanted) else visit.links.to("/")


async def log(visit: Visit, action: str, *told: Told) -> None:
    """Writes to the log of changes, one line for each."""
    await visit.console.actions.add(
        *(
            Line(
                at_ms=visit.now_ms,
                who=visit.viewer.name,
                role=visit.viewer.role.value,
                account=visit.viewer.account,
                address=visit.address,
                action=action,
                target=one.target,
                detail=one.detail,
                error=one.error,
            )
            for one in told
        )
    )


def with_cookies(visit: Visit, response: web.StreamResponse) -> web.StreamResponse:
    """Renews the session cookie if it is new or was not renewed for a while, and clears a message that was shown."""
    if response.prepared:
        return response
    sessions = visit.console.sessions
    cookies = response.cookies
    if COOKIE not in cookies and not visit.is_refresh:
        touched = sessions.touched(visit.session)
        if touched is not visit.session or sessions.read(visit.request.cookies.get(COOKIE, "")) != visit.session:
            set_cookie(visit, response, COOKIE, sessions.write(touched), AGE_MS_MAX // 1_000)
    is_shown = visit.flash is not None and response.status != 303 and not visit.is_refresh
    if FLASH_COOKIE not in cookies and is_shown:
        set_cookie(visit, response, FLASH_COOKIE, "", 0)
    return response


def set_cookie(visit: Visit, response: web.StreamResponse, name: str, value: str, age_s: int) -> None:
    """Not readable by scripts, not sent by other sites."""
    path = visit.links.base
    response.set_cookie(name, value, max_age=age_s, path=path, httponly=True, samesite="Strict", secure=visit.is_secure)


async def http_error(request: web.Request, error: web.HTTPException) -> web.StreamResponse:
    """aiohttp's own errors, in our frame."""
    if error.status < 400:
        return redirect_of(error)
    return await failure(request, CqsError(_WORDS.get(error.status, error.reason)), error.status)


def redirect_of(error: web.HTTPException) -> web.Response:
    return web.Response(status=error.status, headers={"Location": error.headers.get("Location", "/")})


async def failure(request: web.Request, error: CqsError, status: int) -> web.StreamResponse:
    """The error as a page; a bare one if the requester is unknown."""
    try:
        visit = await admit(request.app[CONSOLE], request)
    except CqsError as refused:
        bare = request.app[CONSOLE].templates.page("bare.html", {"text": str(refused)})
        status = 403 if isinstance(refused, AccessDenied) else 503
        return web.Response(text=bare, status=status, content_type="text/html", charset="utf-8")
    if not visit.is_logged_in and status != 403:
        return with_cookies(visit, to_login(visit))
    if not visit.is_logged_in:
        bare = request.app[CONSOLE].templates.page("bare.html", {"text": str(error)})
        return web.Response(text=bare, status=status, content_type="text/html", charset="utf-8")
    title = {403: "Not allowed", 404: "Not found", 503: "Not available now"}.get(status, "Something went wrong")
    return with_cookies(visit, visit.page("error.html", status=status, title=title, text=str(error)))


def _flashing(visit: Visit, response: web.Response, flash: Flash) -> web.Response:
    cookie = visit.console.sessions.write_flash(flash, visit.session)
    set_cookie(visit, response, FLASH_COOKIE, cookie, FLASH_MS_MAX // 1_000)
    return response
