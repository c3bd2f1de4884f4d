"""The console as an aiohttp application, which the server mounts at /ADMIN.

    request ─► POST: Origin ─► Host and password (gate) ─► logged in? ─► role ─► page
                                                                          └► POST: form, token ─► action ─► log ─► 303
                every answer: security headers, no store, cookies

The form of a user without permission is not even read. A GET changes nothing; only what is in the table of routes is
served. An error becomes a page in the same frame, in plain words, and never shows a traceback.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import structlog
from aiohttp import web

from admin import answers, headers
from admin.actions import log_in, undo
from admin.console import CONSOLE, Console
from admin.csrf import FIELD, HEADER, check_origin
from admin.forms import BadInput, Form, Receive, TooLarge, read_form
from admin.gate import admit
from admin.links import PREFIX
from admin.origins import hosts_of
from admin.route import Action, Page
from admin.routes import ROUTES
from admin.visit import Done, Told, Visit
from cqs.errors import (
    AccessDenied,
    CacheUnavailable,
    CqsError,
    NoSuchIdentity,
    OutcomeUnknown,
    QueueDoesNotExist,
    ResourceNotFound,
    ServiceUnavailable,
    StoreUnavailable,
)

_log = structlog.get_logger("cqs.console")
_AWAY = (StoreUnavailable, CacheUnavailable, OutcomeUnknown, ServiceUnavailable)


def make_application(console: Console, receive: Receive) -> web.Application:
    """The whole console; it expects paths that start with /ADMIN. `receive` reads the bodies of forms."""
    application = web.Application(middlewares=[_frame], client_max_size=1)
    application[CONSOLE] = console
    undo.listen(console)
    log_in.listen(console)
    application.cleanup_ctx.append(_warming)
    application.on_shutdown.append(_end_jobs)
    application.router.add_get(PREFIX, _to_root)
    application.router.add_get(PREFIX + "/static/{name:.+}", answers.static)
    for route in ROUTES:
        if isinstance(route, Page):
            application.router.add_get(PREFIX + route.path, _page_handler(route))
        else:
            application.router.add_post(PREFIX + route.path, _action_handler(route, receive))
    return application


async def _warming(application: web.Application) -> AsyncIterator[None]:
    """Compiles the pages in a thread before the first visitor arrives."""
    warming = asyncio.ensure_future(asyncio.to_thread(application[CONSOLE].templates.warm))
    yield
    await warming


async def _end_jobs(application: web.Application) -> None:
    await application[CONSOLE].grace.end()
    await application[CONSOLE].jobs.end()
    await application[CONSOLE].health.end()
    await application[CONSOLE].abroad.end()


async def _to_root(request: web.Request) -> web.StreamResponse:
    """Relative to where the browser is, so that it also works behind a proxy that adds a path without saying so."""
    raise web.HTTPPermanentRedirect(PREFIX.removeprefix("/") + "/")


@web.middleware
async def _frame(request: web.Request, handler: answers.Handler) -> web.StreamResponse:
    """Applies to every answer."""
    try:
        response = await handler(request)
    except web.HTTPException as error:
        response = await answers.http_error(request, error)
    except CqsError as error:
        response = await answers.failure(request, error, _status_of(error))
    except Exception:
        _log.exception("console_failed", path=request.path[:200])
        response = await answers.failure(request, CqsError("The console had an internal error."), 500)
    headers.secure(response)
    return response


def _status_of(error: CqsError) -> int:
    if isinstance(error, QueueDoesNotExist | ResourceNotFound | NoSuchIdentity):
        return 404
    if isinstance(error, TooLarge):
        return 413
    if isinstance(error, AccessDenied):
        return 403
    return 503 if isinstance(error, _AWAY) else 400


def _page_handler(route: Page) -> answers.Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        visit = await admit(request.app[CONSOLE], request)
        refused = _refused(visit, route.permission)
        response = refused if refused is not None else await route.show(visit)
        return answers.with_cookies(visit, response)

    return handle


def _action_handler(route: Action, receive: Receive) -> answers.Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        about = request.app[CONSOLE].about
        check_origin(request, hosts_of(request, about.proxies, about.public_url))
        visit = await admit(request.app[CONSOLE], request)
        response = _refused(visit, route.needs)
        if response is None:
            upload = receive(request, route.bytes_max)
            try:
                response = await _asked(visit, route, await read_form(request, upload, route.bytes_max))
            finally:
                upload.leave()
        return answers.with_cookies(visit, response)

    return handle


async def _asked(visit: Visit, route: Action, form: Form) -> web.StreamResponse:
    """Performs the form's action, if the form belongs to one of this session's pages."""
    token = form.text(FIELD) or visit.request.headers.get(HEADER, "")
    if visit.console.sessions.is_token_of(visit.session, token):
        return await _do(visit, route, form)
    return await route.retry(visit, form, BadInput(answers.EXPIRED)) if route.retry else answers.expired(visit)


def _refused(visit: Visit, permission: str | None) -> web.StreamResponse | None:
    """The login page if nobody is logged in; raises AccessDenied for a user without permission; otherwise None."""
    if permission is None:
        return None
    if not visit.is_logged_in:
        return answers.to_login(visit)
    visit.viewer.check(permission)
    return None


async def _do(visit: Visit, route: Action, form: Form) -> web.StreamResponse:
    try:
        outcome = await route.act(visit, form)
    except CqsError as error:
        if route.is_logged and not isinstance(error, BadInput):
            await answers.log(visit, route.name, Told(_target_of(visit), error=str(error)))
        if route.retry is not None:
            return await route.retry(visit, form, error)
        return answers.back(visit, form, str(error))
    if not isinstance(outcome, Done):
        return outcome
    if route.is_logged:
        told = outcome.told or [Told(outcome.target or _target_of(visit), outcome.detail)]
        await answers.log(visit, route.name, *told)
    return answers.go_on(visit, outcome)


def _target_of(visit: Visit) -> str:
    account, name = visit.parts.get("account", ""), visit.parts.get("queue", "")
    return f"{account}/{name}" if name else visit.parts.get("user", "")
