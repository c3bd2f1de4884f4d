"""Audit reports: the list, and single reports in a sandboxed frame, because jobs generate them from message contents.
They cover all accounts, so only users of the server's own account may see them."""

from __future__ import annotations

import asyncio
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from aiohttp import web

from admin import reports
from admin.exports import attachment
from admin.findings import FIGURES, Finding, findings_of
from admin.headers import REPORT_POLICY
from admin.outcomes import DRILLS, Audit, Drill, audits_of, drills_of
from admin.reports import Report
from admin.visit import Visit

SHOWN_AS_TEXT_MAX = 400_000


class _Seen(NamedTuple):
    """The contents of the folder; drills are those of the newest file that has any."""

    files: list[Report]
    audits: list[Audit]
    drills: list[tuple[Report, Drill]]


async def show_all(visit: Visit) -> web.StreamResponse:
    visit.check_home()
    folder = visit.console.about.reports
    seen = _Seen([], [], [])
    if folder is not None:
        seen = await visit.console.thrift.ask("reports", lambda: _look(folder), is_fresh=not visit.is_refresh)
    return visit.page("reports.html", seen=seen, folder=str(folder or ""))


async def _look(folder: Path) -> _Seen:
    return await asyncio.to_thread(_seen_in, folder)


def _seen_in(folder: Path) -> _Seen:
    files = reports.listed(folder)

    def content_of(name: str) -> bytes | None:
        found = reports.read(folder, name)
        return found[0] if found is not None else None

    drilled = [one for one in files if PurePosixPath(one.name).name == DRILLS][:1]
    drills = [(one, drill) for one in drilled for drill in drills_of(content_of(one.name))]
    return _Seen(files, audits_of(files, content_of), drills)


async def show(visit: Visit) -> web.StreamResponse:
    """One report within the page: text as text, anything else in a frame of its own."""
    name, content, content_type = await _read(visit)
    is_text = content_type.startswith("text/plain") or content_type in ("application/json", "text/csv; charset=utf-8")
    text = content[:SHOWN_AS_TEXT_MAX].decode("utf-8", "replace") if is_text else ""
    return visit.page(
        "report.html",
        name=name,
        text=text,
        is_text=is_text,
        is_cut=len(content) > SHOWN_AS_TEXT_MAX,
        drills=drills_of(content) if name.rpartition("/")[2] == DRILLS else [],
        findings=[one for one in await _findings(visit, name) if visit.viewer.sees(one.queue.account)],
    )


async def _findings(visit: Visit, name: str) -> list[Finding]:
    """The findings in the figures beside the report, or in the report if it is the figures."""
    folder = visit.console.about.reports
    beside = (PurePosixPath(name).parent / FIGURES).as_posix()
    found = await asyncio.to_thread(reports.read, folder, beside) if folder is not None else None
    return findings_of(found[0]) if found is not None else []


async def raw(visit: Visit) -> web.StreamResponse:
    """The file itself: displayed only in the page's frame, or downloaded."""
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
