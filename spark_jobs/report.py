"""One page per run, for people: the verdict first, then its grounds, then tables and plots. Self-contained HTML without
scripts; the figures beside it as JSON, and every row as Parquet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_jobs.comparison import FIGURES, compared
from spark_jobs.findings import Kind
from spark_jobs.gaps import Gap
from spark_jobs.page import STYLE, facts, section, table, tiles
from spark_jobs.svg import Series, bars, lines, number
from spark_jobs.totals import Totals
from spark_jobs.verdict import State, Verdict

if TYPE_CHECKING:
    from spark_jobs.audit import Audit

PAGE = "report.html"
SPANS_DRAWN_MAX = 2_000
_QUEUES_SHOWN = 20
_DAY_MS = 86_400_000
_MEANING = {
    State.PROVEN: "Nothing was lost, and the journal proves it.",
    State.VIOLATED: "Something happened that must not happen.",
    State.UNPROVEN: "Nothing is certain to be wrong, but not everything could be proven.",
}
_QUEUE_COLUMNS = {
    "queue": "queue",
    "acknowledged": "acknowledged",
    "received": "received",
    "duplicates": "duplicates",
    "not_received": "not received",
    "held": "held",
    "corrupted": "corrupted",
    "loss_rate": "ε",
    "out_of_order": "out of order",
    "displacement": "displacement",
    "p50": "p50 ms",
    "p99": "p99 ms",
    "max": "max ms",
    "receives": "receives",
    "empty": "empty",
}
_GROUP_NAMES = ("acknowledged", "duplicates", "not_received", "loss_rate", "out_of_order", "displacement", "p50", "p99")
_GROUP_COLUMNS = {name: _QUEUE_COLUMNS[name] for name in _GROUP_NAMES}


def forget_report(output: str) -> None:
    """Removes an earlier report, so that nobody mistakes it for that of an audit that fails."""
    for name in (PAGE, FIGURES):
        (Path(output) / name).unlink(missing_ok=True)


def write_report(
    found: Audit,
    output: str,
    *,
    title: str,
    command: str,
    jepsen: Mapping[str, int] | None = None,
    faults: Sequence[str] = (),
    faults_by_span: Mapping[int, int] | None = None,
    before: Mapping[str, Any] | None = None,
) -> str:
    """Writes page and figures to `output`, and returns the page's path. `before`: the figures of an earlier run to
    compare with; `faults`: descriptions of injected faults, and `faults_by_span` their number, by the span's start."""
    figures = found.as_dict() | {
        "title": title,
        "command": command,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "jepsen": dict(jepsen or {}),
        "faults": list(faults),
        "faults_by_span": dict(faults_by_span or {}),
    }
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FIGURES).write_text(json.dumps(figures, indent=1, default=str))
    page = folder / PAGE
    page.write_bytes(_page(found, figures, before).encode(errors="replace"))
    return str(page)


def _page(found: Audit, figures: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
    verdict = found.verdict
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in verdict.reasons)
    body = [
        f'<header class="{verdict.state.value}"><p class="run">{escape(str(figures["title"]))}</p>'
        f"<h1>{verdict.state.value}</h1><p>{_MEANING[verdict.state]}</p><ul>{reasons}</ul></header>",
        tiles(_tiles(found.totals, verdict)),
        compared(found.totals, verdict.lost, before) if before else "",
        _clients(figures),
        _faults(figures),
        _time(found, figures),
        _queues(found),
        _findings(found),
        _journal(found, figures),
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(str(figures["title"]))}: '
        f'{verdict.state.value}</title><meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}</style><main>{''.join(body)}</main></html>"
    )


def _tiles(totals: Totals, verdict: Verdict) -> list[tuple[str, str, str]]:
    loss_rate = verdict.loss_rate(totals)
    return [
        ("acknowledged", number(totals.acknowledged), "messages sent or moved in"),
        ("lost", verdict.lost_text, "acknowledged, then lost" if loss_rate is None else f"ε = {loss_rate:.2g}"),
        ("duplicates", number(totals.duplicates), f"λ = {totals.duplicate_rate:.2g}"),
        ("out of order", f"{totals.out_of_order:.2%}", "would have to move to be in order"),
        ("displacement", number(totals.displacement), "places, on average"),
        ("deleted", number(totals.deleted), "acknowledged deletes"),
    ]


def _clients(figures: Mapping[str, Any]) -> str:
    if not figures["jepsen"]:
        return ""
    head = {name: name for name in figures["jepsen"]}
    return section("As the clients saw it", table(head, [figures["jepsen"]]))


def _faults(figures: Mapping[str, Any]) -> str:
    if not figures["faults"]:
        return ""
    items = "".join(f"<li>{escape(fault)}</li>" for fault in figures["faults"])
    return section("Injected faults", f"<ul>{items}</ul>")


def _time(found: Audit, figures: Mapping[str, Any]) -> str:
    spans = without_holes(found.tables["spans"])
    if not spans:
        return ""
    is_long = spans[-1]["from_ms"] - spans[0]["from_ms"] >= _DAY_MS
    labels = [moment_text(span["from_ms"])[0 if is_long else 11 :] for span in spans]

    moments = [float(span["from_ms"]) for span in spans]

    def drawn(heading: str, names: Sequence[str]) -> str:
        """A plot of messages received for the first time, where there were any."""
        every = [
            Series(name, [span[name] if span["messages"] else None for span in spans], css)
            for name, css in zip(names, "abc", strict=False)
        ]
        return f"<h3>{heading}</h3>{lines(moments, labels, every)}"

    def counted(heading: str, name: str, values: Sequence[float], css: str) -> str:
        return f"<h3>{heading}</h3>{lines(moments, labels, [Series(name, values, css)])}" if any(values) else ""

    faults: Mapping[int, int] = figures["faults_by_span"]
    plots = [
        drawn("Send to receive, ms", ["p50", "p95", "p99"]),
        counted("Messages received", "messages", [span["messages"] for span in spans], "a"),
        counted("Redeliveries", "again", [span["again"] for span in spans], "b"),
        counted("Injected faults", "faults", [faults.get(span["from_ms"], 0) for span in spans], "c"),
        drawn("Displacement, places", ["displacement"]) if any(span["displacement"] for span in spans) else "",
    ]
    return section("Over time", "".join(plots))


def moment_text(ms: int) -> str:
    """In UTC; the number itself if there is no such date, which a damaged line may contain."""
    try:
        return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms".rjust(19)


def without_holes(spans: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Adds spans without deliveries, which the table omits, as zeros for the plots, unless there would be more than
    SPANS_DRAWN_MAX."""
    starts = [span["from_ms"] for span in spans]
    step = min((later - earlier for earlier, later in pairwise(starts)), default=0)
    if not step or (starts[-1] - starts[0]) // step >= SPANS_DRAWN_MAX:
        return list(spans)
    there = {span["from_ms"]: span for span in spans}
    zeros = dict.fromkeys(spans[0], 0)
    moments = range(starts[0], starts[-1] + step, step)
    return [there.get(moment, zeros | {"from_ms": moment}) for moment in moments]


def _queues(found: Audit) -> str:
    queues = found.tables["queues"]
    shown = queues[:_QUEUES_SHOWN]
    if not shown:
        return ""
    names = [str(row["queue"]) for row in shown]
    plots = [
        ("Displacement, places", "displacement", "b"),
        ("Duplicates", "duplicates", "c"),
        ("Send to receive, p99 ms", "p99", "a"),
    ]
    drawn = "".join(
        f"<h3>{heading}</h3>{bars(names, Series(heading, [float(row[column]) for row in shown], css))}"
        for heading, column, css in plots
        if any(row[column] for row in shown)
    )
    tenants = table(
        {"account": "account", "tenant": "tenant", **_GROUP_COLUMNS}, found.tables["tenants"][:_QUEUES_SHOWN]
    )
    more = f"<p>The {len(shown)} largest of {len(queues)}; all are in queues/ beside this page.</p>"
    return section("Queues", drawn + more + table(_QUEUE_COLUMNS, shown)) + section("Tenants", tenants)


def _findings(found: Audit) -> str:
    kinds = [{"kind": kind.value, "count": found.totals.of(kind)} for kind in Kind if found.totals.of(kind)]
    again = found.tables["redeliveries"]
    reasons = table({"reason": "redelivered because", "count": "times"}, again) if again else "<p>None.</p>"
    shown = [row for row in found.tables["findings"] if row["kind"] != Kind.DUPLICATE.value][:_QUEUES_SHOWN]
    rows = table({"kind": "finding", "queue": "queue", "address": "message", "detail": "detail"}, shown)
    counts = table({"kind": "finding", "count": "count"}, kinds) if kinds else "<p>Nothing.</p>"
    return section("Findings", counts + (f"<h3>Examples</h3>{rows}" if shown else "")) + section(
        "Redeliveries", reasons
    )


def _of_gap(gap: Gap) -> dict[str, Any]:
    times = [f"{moment_text(ms)} UTC" if ms is not None else "unknown" for ms in (gap.from_ms, gap.until_ms)]
    known = {"why": gap.kind.value, "node": gap.node, "events": "unknown" if gap.lines is None else gap.lines}
    return known | dict(zip(("from", "until"), times, strict=True)) | {"file": gap.path}


def _journal(found: Audit, figures: Mapping[str, Any]) -> str:
    whole = found.integrity
    head = {name: name for name in ("why", "node", "events", "from", "until", "file")}
    gaps = table(head, [_of_gap(gap) for gap in whole.gaps]) if whole.gaps else "<p>No gaps.</p>"
    told = {
        "of nodes": ", ".join(found.nodes),
        "from": f"{moment_text(found.from_ms)} UTC",
        "until": f"{moment_text(found.until_ms)} UTC",
        "judged": str(found.window or "all of it"),
        "events": number(whole.lines),
        "bad lines": number(whole.bad),
        "files": str(len(whole.kept)),
        "files not read": number(found.unread),
        "files pruned": number(whole.pruned),
        "copies skipped": str(len(whole.duplicates)),
        "sampled": f"one message in {whole.sampled}" if whole.sampled > 1 else "every message",
        "command": str(figures["command"]),
        "made": str(figures["made"]),
    }
    return section("The audited journal", facts(told) + gaps)
