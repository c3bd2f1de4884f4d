"""Who changed what: the log of changes, searched and taken away."""

from __future__ import annotations

import msgspec
from aiohttp import web

from admin.action_log import Line, Question
from admin.exports import as_csv, attachment
from admin.formats import iso
from admin.viewer import MANAGE
from admin.visit import Visit

SHOWN_MAX = 100
EXPORTED_MAX = 50_000


async def show(visit: Visit) -> web.StreamResponse:
    """The newest that fit; older ones by `before`."""
    visit.viewer.check(MANAGE)
    question = _question(visit)
    lines, is_more = await visit.console.actions.find(question, SHOWN_MAX)
    seen = [line for line in lines if _may_see(visit, line)]
    return visit.page(
        "changes.html",
        lines=seen,
        question=question,
        is_more=is_more and bool(lines),
        older=visit.here(before=lines[-1].at_ms) if lines else "",
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
        if _may_see(visit, line)
    ]
    head = ("time", "who", "role", "address", "action", "target", "detail", "error")
    return attachment(as_csv(head, rows), "changes.csv", "text/csv; charset=utf-8")


async def as_lines(visit: Visit) -> web.StreamResponse:
    """As JSON lines, oldest first."""
    visit.viewer.check(MANAGE)
    lines, _ = await visit.console.actions.find(_question(visit), EXPORTED_MAX)
    content = b"".join(msgspec.json.encode(line) + b"\n" for line in reversed(lines) if _may_see(visit, line))
    return attachment(content, "changes.jsonl", "application/jsonl")


def _question(visit: Visit) -> Question:
    return Question(
        text=visit.query("q").strip(),
        who=visit.query("who").strip(),
        action=visit.query("action").strip(),
        is_failed_only=visit.query("failed") == "1",
        before_ms=visit.number("before", 0, 0, 1 << 60),
    )


def _may_see(visit: Visit, line: Line) -> bool:
    """Administrators of one account see what was done by its users, and to its queues by others."""
    account = visit.viewer.account
    is_to_ours = line.target.startswith((f"{account}/", "arn:")) and account in line.target.split("/")[0].split(":")
    return visit.viewer.is_everywhere or line.account == account or is_to_ours
