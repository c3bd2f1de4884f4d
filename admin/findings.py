"""The single messages with problems that an audit found, read from its figures, so that the console can link to each.

The figures are a file written by a job; anything unexpected in it is ignored.
"""

from __future__ import annotations

import msgspec

from cqs import ids
from cqs.identity import ACCOUNT_ID
from cqs.queue import QueueName

SHOWN_MAX = 200
FIGURES = "report.json"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`at_ms` 0 = unknown."""

    kind: str
    queue: QueueName
    address: str
    at_ms: int
    detail: str


class _Row(msgspec.Struct):
    kind: str = ""
    account: str | None = None
    queue: str | None = None
    address: str | None = None
    at_ms: int | None = None
    detail: str | None = None


class _Tables(msgspec.Struct):
    findings: list[_Row] = []


class _Figures(msgspec.Struct):
    tables: _Tables = msgspec.field(default_factory=_Tables)


def findings_of(content: bytes) -> list[Finding]:
    """The first SHOWN_MAX; [] if the content is not an audit's figures."""
    try:
        rows = msgspec.json.decode(content, type=_Figures).tables.findings[:SHOWN_MAX]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    return [found for row in rows if (found := _finding(row)) is not None]


def _finding(row: _Row) -> Finding | None:
    account, name, address = row.account or "", row.queue or "", row.address or ""
    if not ACCOUNT_ID.fullmatch(account) or not name or ids.parse(address) is None:
        return None
    return Finding(
        kind=row.kind,
        queue=QueueName(account, name),
        address=address,
        at_ms=max(0, row.at_ms or 0),
        detail=row.detail or "",
    )
