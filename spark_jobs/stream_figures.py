"""What the streaming audit publishes: `figures.json` for the console, `cqs_audit.prom` for Prometheus.

The figures include everything known so far. The verdict waits: a finding that a later line may explain (a message
hidden too short, a FIFO rule) is a doubt until it is settled.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.counted import counted
from spark_jobs.findings import Kind
from spark_jobs.groups import column_of
from spark_jobs.integrity import Integrity
from spark_jobs.latency import PERCENTILES
from spark_jobs.prometheus import text_of
from spark_jobs.staged import united
from spark_jobs.stream_latency import LATENCIES, percentiles
from spark_jobs.stream_place import Memory, Place, replace_text
from spark_jobs.stream_state import COUNTS, MOST, TOTALS, added
from spark_jobs.tables import QUEUE
from spark_jobs.totals import Totals
from spark_jobs.verdict import State, Verdict, judge

FIGURES, METRICS = "figures.json", "cqs_audit.prom"
QUEUES_SHOWN = 1_000
_GAUGES = {
    **{name: name for name in COUNTS if name not in ("waiting", "latency_sum")},
    **{name: name for name in ("duplicate_rate", "out_of_order", "displacement")},
    **{name: f"{name}_ms" for name in ("latency_mean", MOST)},
    **{name: f"latency_{name}_ms" for name in PERCENTILES},
}
"""The figures of each queue in Prometheus: figure and metric name."""
_AT_ONCE = (Kind.CORRUPTED, Kind.RESURRECTED)
_WHEN_SETTLED = (Kind.HIDDEN_TOO_SHORT, Kind.FIFO_ORDER, Kind.FIFO_TWO_CONSUMERS, Kind.NEVER_STORED)


def publish(state: Place, output: Path, integrity: Integrity) -> None:
    """Writes both files, each atomically."""
    memory = state.memory()
    settled, begun = state.read("totals", TOTALS), state.read("begun", TOTALS)
    latencies = united(state.read("latencies", LATENCIES), state.read("latencies_begun", LATENCIES))
    rows = _rows(added(settled, begun), latencies)
    over, all_of = _summed(settled), _summed(united(settled, begun))
    verdict = _judged(all_of, over, memory, integrity)
    spans = percentiles(latencies, ["from_ms"]).orderBy("from_ms").collect()
    figures = {
        "verdict": asdict(verdict),
        "totals": all_of | _order_of(all_of) | {"late_lines": memory.late_lines},
        "waiting": all_of["waiting"],
        "queues": rows,
        "latencies": [row.asDict() for row in spans],
        "watermark_ms": memory.mark_ms,
        "bad_lines": integrity.bad,
        "gaps": [asdict(gap) for gap in integrity.gaps],
    }
    replace_text(output / FIGURES, json.dumps(figures))
    replace_text(output / METRICS, _metrics(rows, all_of["waiting"], verdict, integrity, memory))


def _rows(totals: DataFrame, latencies: DataFrame) -> list[dict[str, Any]]:
    """One per queue, largest first."""
    rates = {
        "duplicate_rate": _of("duplicates", F.col("acknowledged")),
        "out_of_order": _of(F.col("placed") - F.col("in_order"), F.col("placed")),
        "displacement": _of("displaced", F.col("placed") - F.col("overtaken")),
        "latency_mean": _of("latency_sum", F.col("received")),
    }
    cuts = percentiles(latencies, QUEUE).drop("messages", "account", "queue")
    told = totals.withColumns(rates).join(cuts, "uid", "left")
    return [row.asDict() for row in told.orderBy(F.desc("acknowledged"), *QUEUE).limit(QUEUES_SHOWN).collect()]


def _of(count: Column | str, whole: Column) -> Column:
    part = F.col(count) if isinstance(count, str) else count
    return F.when(whole > 0, part / whole).otherwise(F.lit(0.0))


def _summed(totals: DataFrame) -> dict[str, int]:
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in COUNTS]
    return dict(totals.agg(*sums).collect()[0].asDict())


def _order_of(count: dict[str, int]) -> dict[str, float]:
    placed = count["placed"]
    told = placed - count["overtaken"]
    return {
        "out_of_order": (placed - count["in_order"]) / placed if placed else 0.0,
        "displacement": count["displaced"] / told if told else 0.0,
    }


def _judged(count: dict[str, int], over: dict[str, int], memory: Memory, integrity: Integrity) -> Verdict:
    names = ("acknowledged", "received", "deleted", "ended_otherwise", "duplicates", "held")
    late = count["late"]
    found = {kind.value: count[column_of(kind)] for kind in _AT_ONCE}
    found |= {kind.value: over[column_of(kind)] for kind in _WHEN_SETTLED}
    order = _order_of(count)
    totals = Totals(
        **{name: count[name] for name in names},
        out_of_order=order["out_of_order"],
        displacement=order["displacement"],
        holes=count["waiting"] + count["held"] + late,
        found=found | {Kind.NOT_RECEIVED.value: count["waiting"]},
        signs={"unsent": late + memory.late_lines},
        skew_ms=memory.skew_ms,
    )
    verdict = judge(totals, integrity, is_drained=False)
    unsettled = sum(count[column_of(kind)] - over[column_of(kind)] for kind in _WHEN_SETTLED)
    doubts = (
        (
            unsettled,
            "deliver(y|ies) or answer(|s) (seems|seem) to break a rule, but lines still to come may explain (it|them)",
        ),
        (
            memory.late_lines,
            "event(|s) came too late for the order of receives and FIFO: use a longer --delay-ms",
        ),
        (late, "message(|s) (was|were) logged too late, or nobody sent (it|them): python -m spark_jobs tells which"),
    )
    return with_doubts(verdict, [counted(number, text) for number, text in doubts if number])


def with_doubts(verdict: Verdict, doubts: Sequence[str]) -> Verdict:
    """A doubt rules out a proof."""
    if not doubts:
        return verdict
    if verdict.state is State.PROVEN:
        return Verdict(State.UNPROVEN, None, tuple(doubts))
    return replace(verdict, reasons=(*verdict.reasons, *doubts))


def _metrics(
    rows: Sequence[dict[str, Any]], waiting: int, verdict: Verdict, integrity: Integrity, memory: Memory
) -> str:
    series: dict[str, list[tuple[dict[str, str], float]]] = {
        f"cqs_audit_{told}": [
            ({label: str(row[label]) for label in QUEUE}, row[name]) for row in rows if row[name] is not None
        ]
        for name, told in _GAUGES.items()
    }
    series["cqs_audit_waiting"] = [({}, waiting)]
    series["cqs_audit_gaps"] = [({}, len(integrity.gaps))]
    series["cqs_audit_bad_lines"] = [({}, integrity.bad)]
    series["cqs_audit_late_lines"] = [({}, memory.late_lines)]
    series["cqs_audit_read_until_seconds"] = [({}, memory.latest_ms / 1_000)]
    series["cqs_audit_verdict"] = [({"state": verdict.state.value}, 1)]
    return text_of(series)
