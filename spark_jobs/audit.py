"""Audits a journal: computes all figures, per queue, tenant and run, and the verdict.

    journal ─► events ─► sums ─► (steps) ─► lives ─┬─► findings   one row per message with something wrong
                                                   └─► figures    one row per queue, tenant, run

Figures and findings are written to the output folder as Parquet. Nothing about single messages is collected to the
driver, except for the few that a report shows. `python -m spark_jobs FOLDER` is the command.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.absence import signs_of, skew_of
from spark_jobs.arguments import literal
from spark_jobs.duplicates import duplicates, sent_again
from spark_jobs.empties import empties
from spark_jobs.events import Journal, read_journal
from spark_jobs.fifo import fifo_violations
from spark_jobs.findings import Kind
from spark_jobs.groups import COUNTS, GROUPS, gone_of, group_figures
from spark_jobs.hiding import hidden_too_short
from spark_jobs.integrity import Integrity
from spark_jobs.latency import HOUR_MS
from spark_jobs.lives import eventful, gone_in, lives_of, plain_lives_of, sums_of, with_fate
from spark_jobs.loss import asked_of, corrupted, not_received, unexpected
from spark_jobs.order import ORDER_RECEIVED, ORDER_SENT, order_by, order_of, places_of
from spark_jobs.reconcile import Reconciled, counts_of, reconcile
from spark_jobs.redelivery import redeliveries
from spark_jobs.resurrected import resurrected
from spark_jobs.spans import over_time
from spark_jobs.staged import kept, staged, united
from spark_jobs.tables import QUEUE, moments_of, plain_steps_of, steps_of
from spark_jobs.totals import Totals
from spark_jobs.unsent import explained, never_stored
from spark_jobs.verdict import Verdict, judge
from spark_jobs.window import Window
from spark_jobs.within import findings_in, happened_in, messages_in, too_old_for

ROWS_SHOWN = 1_000
"""Maximum number of groups and findings in the JSON; the Parquet beside it has all of them."""
_FINDINGS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Rules:
    """The assumptions of an audit."""

    is_drained: bool = False
    """Receivers ran until the queues were empty: what was not received is lost."""
    has_all_nodes: bool = False
    """The journals of all participating nodes were given, so nothing can be attributed to a missing one."""
    skew_ms: int = 0
    """How far the clocks of nodes and caches may differ."""
    bucket_ms: int = HOUR_MS
    """Latencies are reported for spans of this length."""
    window: Window | None = None
    """The period that is judged; None: everything, of servers that have stopped."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The result; `tables` has JSON-ready rows."""

    totals: Totals
    verdict: Verdict
    integrity: Integrity
    tables: dict[str, list[dict[str, Any]]]
    store: Reconciled | None = None
    nodes: tuple[str, ...] = ()
    from_ms: int = 0
    until_ms: int = 0
    """The nodes whose journals were read, and the time of their first and last lines."""
    window: Window | None = None
    unread: int = 0
    """How many files were not read, since they lie too far from the window."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def audit(
    spark: SparkSession, folders: Sequence[str], output: str, rules: Rules, stored: DataFrame | None = None
) -> Audit:
    """Reads the journals, reconciles them with `stored` if given, writes Parquet to `output`, and judges. Raises
    NoJournal, UnknownVersion."""
    try:
        reach = rules.window.reach if rules.window else None
        journal = read_journal(spark, folders, f"{output}/stage", reach)
        return _audited(journal, output, rules, stored)
    finally:
        shutil.rmtree(Path(output) / "stage", ignore_errors=True)


def _audited(journal: Journal, output: str, rules: Rules, stored: DataFrame | None) -> Audit:
    stage, moments, window = f"{output}/stage", moments_of(journal.events), rules.window
    sums = staged(sums_of(moments), f"{stage}/sums")
    steps = steps_of(eventful(moments, sums), rules.skew_ms).persist(StorageLevel.DISK_ONLY)
    try:
        lived = united(lives_of(steps), plain_lives_of(sums, moments, stage))
        lives = kept(with_fate(lived, gone_in(journal.events)), f"{output}/lives")
        fifo = united(plain_steps_of(eventful(moments.where("is_fifo"), sums, "left_anti")), steps)
        there = staged(stored, f"{output}/stage/stored") if stored is not None else None
        parts = _findings(journal, steps, fifo, lives, there, rules)
        found = kept(findings_in(parts, moments, lives, window, has_store=there is not None), f"{output}/findings")
        lives, events = messages_in(lives, window), happened_in(journal.events, window)
        told = happened_in(steps, window, "time_ms")
        places = places_of(
            lives.where("is_known AND deliveries > 0"), ["uid"], ORDER_SENT, ORDER_RECEIVED, f"{stage}/order"
        )
        order = staged(order_of(places, ["uid"], f"{stage}/order"), f"{stage}/by_queue")
        lost_kinds = [Kind.NOT_RECEIVED] * rules.is_drained + [Kind.LOST] * (there is not None)
        tables = _tables(events, told, lives, found, order, output, rules, lost_kinds)
        spans = kept(over_time(lives, told, places, rules.bucket_ms), f"{output}/spans")
        tables["spans"] = _rows(spans.orderBy("from_ms").limit(ROWS_SHOWN))
        skew_ms = skew_of(journal.events, steps)
    finally:
        steps.unpersist()
    kept(journal.bad, f"{output}/bad_lines")
    totals = _totals(found, lost_kinds, lives.sparkSession.read.parquet(literal(f"{output}/queues")))
    if totals.found and not rules.has_all_nodes:
        totals = replace(totals, signs=signs_of(events, happened_in(journal.events, window, "received_ms"), lives))
    if skew_ms > rules.skew_ms:
        totals = replace(totals, skew_ms=skew_ms)
    if window is not None and totals.of(Kind.LOST):
        is_older = (F.col("kind") == Kind.LOST.value) & ((F.col("at_ms") < window.since_ms) | (F.col("detail") != ""))
        totals = replace(totals, lost_older=found.where(is_older).count())
    if window is not None and journal.unread:
        totals = replace(totals, too_old=too_old_for(window, journal.events, there))
    store = counts_of(found, there) if there is not None else None
    return _judged(journal, totals, rules, tables, store)


def _judged(
    journal: Journal,
    totals: Totals,
    rules: Rules,
    tables: dict[str, list[dict[str, Any]]],
    store: Reconciled | None,
) -> Audit:
    window = rules.window.begun_with(journal.began_ms) if rules.window else None
    integrity = window.judged(journal.integrity) if window else journal.integrity
    verdict = judge(totals, integrity, is_drained=rules.is_drained, store=store)
    if window:
        unread = [window.told_unread(journal.unread)] if journal.unread else []
        verdict = replace(verdict, reasons=(*verdict.reasons, *unread, window.told(totals)))
    period = journal.began_ms, journal.ended_ms
    return Audit(totals, verdict, integrity, tables, store, journal.nodes, *period, window, journal.unread)


def _findings(
    journal: Journal, steps: DataFrame, fifo: DataFrame, lives: DataFrame, stored: DataFrame | None, rules: Rules
) -> DataFrame:
    events = journal.events
    parts = [
        duplicates(lives),
        sent_again(lives),
        not_received(lives, asked_of(events), rules.skew_ms),
        corrupted(lives),
        unexpected(lives),
        resurrected(steps, rules.skew_ms),
        hidden_too_short(steps, rules.skew_ms),
        fifo_violations(fifo, lives, rules.skew_ms),
    ]
    if stored is not None:
        parts.append(reconcile(lives, stored))
    parts.append(never_stored(events, lives, stored))
    return explained(
        united(*parts),
        events,
        journal.began_ms,
        skew_ms=rules.skew_ms,
        is_drained=rules.is_drained,
        has_store=stored is not None,
    )


def _tables(
    events: DataFrame,
    steps: DataFrame,
    lives: DataFrame,
    found: DataFrame,
    order: DataFrame,
    output: str,
    rules: Rules,
    lost_kinds: Sequence[Kind],
) -> dict[str, list[dict[str, Any]]]:
    first = lives.where("is_known AND deliveries > 0")
    tables: dict[str, list[dict[str, Any]]] = {}
    for name, by in GROUPS.items():
        ranked = order if by == QUEUE else order_by(order, first, by, f"{output}/stage/order_{name}")
        called = empties(events, ["uid"]) if by == QUEUE else None
        figures = group_figures(lives, found, by, order=ranked.drop("messages"), called=called, lost_kinds=lost_kinds)
        figures = kept(figures, f"{output}/{name}")
        tables[name] = _rows(figures.orderBy(F.desc("acknowledged"), *by).limit(ROWS_SHOWN))
    again = kept(redeliveries(steps, ["queue", "uid"], rules.skew_ms), f"{output}/redeliveries")
    tables["redeliveries"] = _rows(again.groupBy("reason").agg(F.sum("count").alias("count")).orderBy("reason"))
    tables["findings"] = _rows(found.orderBy("kind", "at_ms", "address").limit(_FINDINGS_SHOWN))
    return tables


def _totals(found: DataFrame, lost_kinds: Sequence[Kind], queues: DataFrame) -> Totals:
    """Order is the mean over all queues, weighted by their messages."""
    counts = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in COUNTS]
    summed = queues.agg(*counts).collect()[0].asDict()
    kinds = {row["kind"]: row["amount"] for row in found.groupBy("kind").agg(F.sum("amount").alias("amount")).collect()}
    kinds.pop(Kind.DUPLICATE.value, None)
    means = [
        F.coalesce(F.sum(F.col(name) * F.col("received")) / F.sum("received"), F.lit(0.0)).alias(name)
        for name in ("out_of_order", "displacement")
    ]
    order = queues.where("received > 0").agg(*means).collect()[0].asDict()
    return Totals(**summed, **order, found=kinds, lost_twice=twice_in(found, lost_kinds))


def twice_in(found: DataFrame, lost_kinds: Sequence[Kind]) -> int:
    """How many findings of lost messages concern a message that already has such a finding."""
    counted = gone_of(found, lost_kinds).agg(F.count("*") - F.count_distinct("address"))
    return int(counted.collect()[0][0])


def _rows(rows: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in rows.collect()]
