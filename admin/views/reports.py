"""Audit reports: listed, and opened in a frame that is locked up, since a job wrote them out of message contents. They
tell of all accounts, so they are only for users of the server's own."""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath

from aiohttp import web

from admin import reports
from admin.exports import attachment
from admin.findings import FIGURES, Finding, findings_of
from admin.headers import REPORT_POLICY
from admin.visit import Visit

SHOWN_AS_TEXT_MAX = 400_000


async def show_all(visit: Visit) -> web.StreamResponse:
    visit.check_home()
    folder = visit.console.about.reports
    found = await asyncio.to_thread(reports.listed, folder) if folder is not None else []
    return visit.page("reports.html", found=found, folder=str(folder or ""))


async def show(visit: Visit) -> web.StreamResponse:
    """One report within the page: a text as text, anything else in its own frame."""
    name, content, content_type = await _read(visit)
    is_text = content_type.startswith("text/plain") or content_type in ("application/json", "text/csv; charset=utf-8")
    text = content[:SHOWN_AS_TEXT_MAX].decode("utf-8", "replace") if is_text else ""
    return visit.page(
        "report.html",
        name=name,
        text=text,
        is_text=is_text,
        is_cut=len(content) > SHOWN_AS_TEXT_MAX,
        findings=[one for one in await _findings(visit, name) if visit.viewer.sees(one.queue.account)],
    )


async def _findings(visit: Visit, name: str) -> list[Finding]:
    """Of the figures that lie beside the report, or are it."""
    folder = visit.console.about.reports
    beside = (PurePosixPath(name).parent / FIGURES).as_posix()
    found = await asyncio.to_thread(reports.read, folder, beside) if folder is not None else None
    return findings_of(found[0]) if found is not None else []


async def raw(visit: Visit) -> web.StreamResponse:
    """The file itself: to be shown only in the page's frame, or taken away."""
    name, content, content_type = await _read(visit)
    if visit.query("download"):
        return attachment(content, name.rpartition("/")[2], "application/octet-stream")
    response = web.Response(body=content)
    response.headers["Content-Type"] = content_type
    response.headers["Content-Security-Policy"] = REPORT_POLICY
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    return response


async def _read(visit: Visit) -> tuple[str, bytes, str]:
    visit.check_home()
    folder, name = visit.console.about.reports, visit.parts["name"]
    found = await asyncio.to_thread(reports.read, folder, name) if folder is not None else None
    if found is None:
        raise web.HTTPNotFound
    return name, *found
