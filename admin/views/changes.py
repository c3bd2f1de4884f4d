"""The log of changes: search and download."""

from __future__ import annotations

import msgspec
from aiohttp import web

from admin.action_log import SCAN_MAX, Question
from admin.exports import attachment, table
from admin.formats import iso
from admin.viewer import MANAGE
from admin.visit import Visit

SHOWN_MAX = 100
EXPORTED_MAX = 50_000


async def show(visit: Visit) -> web.StreamResponse:
    """The newest matching lines; older ones by `skip`."""
    visit.viewer.check(MANAGE)
    question = _question(visit)
    lines, is_more = await visit.console.actions.find(question, SHOWN_MAX)
    return visit.page(
        "changes.html",
        lines=lines,
        question=question,
        is_more=is_more and bool(lines),
        older=visit.here(skip=question.skip + len(lines)),
        where=visit.console.actions.where,
        is_asking=bool(question.text or question.who or question.action or question.is_failed_only),
    )


async def as_table(visit: Visit) -> web.StreamResponse:
    """As CSV."""
    visit.viewer.check(MANAGE)
    lines, _ = await visit.console.actions.find(_question(visit), EXPORTED_MAX)
    rows = [
        (iso(line.at_ms), line.who, line.role, line.address, line.action, line.target, line.detail, line.error)
        for line in lines
    ]
    head = ("time", "who", "role", "address", "action", "target", "detail", "error")
    return await table("changes.csv", head, rows)


async def as_lines(visit: Visit) -> web.StreamResponse:
    """As JSON lines, oldest first."""
    visit.viewer.check(MANAGE)
    lines, _ = await visit.console.actions.find(_question(visit), EXPORTED_MAX)
    content = b"".join(msgspec.json.encode(line) + b"\n" for line in reversed(lines))
    return attachment(content, "changes.jsonl", "application/jsonl")


def _question(visit: Visit) -> Question:
    return Question(
        account="" if visit.viewer.is_everywhere else visit.viewer.account,
        text=visit.query("q").strip(),
        who=visit.query("who").strip(),
        action=visit.query("action").strip(),
        is_failed_only=visit.query("failed") == "1",
        skip=visit.number("skip", 0, 0, SCAN_MAX),
    )
