"""Checks the FIFO rules along the timeline of each message group (`spark_jobs.fifo`), one section of the timeline at a
time.

    batch n      carried │ steps until the mark │ later steps
                         └─ final findings      └─ preliminary findings: later lines may explain them
                                    └─► carried: one row per message that is unfinished at the mark, or just finished

Messages that are gone at the mark (purged, or deleted with their queue) are excluded. So the state consists of
unfinished messages, and the result equals that of the whole timeline, as long as nothing comes late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.fifo import FINDINGS, GROUP, LINE_ORDER, Group, Moment, found, group_of
from spark_jobs.findings import COLUMNS
from spark_jobs.staged import together, united

if TYPE_CHECKING:
    import pyarrow as pa

_CARRIED = "carried"
_NOTHING = {"generation": 0, "event": "", "time_ms": 0, "sequence": 0, "call": "", "until_ms": 0}
_STATE = "event string, time_ms long, sequence long, call string, until_ms long"
_SCHEMA = f"{FINDINGS}, generation long, {_STATE}, is_settled boolean"
CARRIED = f"account string, queue string, uid long, generation long, tenant string, address string, {_STATE}"


def checked(line: DataFrame, carried: DataFrame, settled_ms: int, early_ms: int) -> DataFrame:
    """Findings with `is_settled`, and rows of kind "carried" for `carried_in`. `line`: steps that were not in an
    earlier section (`spark_jobs.fifo.line_of`)."""
    rows = united(line.withColumn("is_new", F.lit(True)), carried.withColumn("is_new", F.lit(False)))
    ordered = together(rows, *GROUP).sortWithinPartitions(*GROUP, "is_new", *LINE_ORDER)

    def check(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        return _checked(batches, settled_ms, early_ms)

    return ordered.mapInArrow(check, _SCHEMA)


def carried_in(told: DataFrame, lives: DataFrame, gone: DataFrame, settled_ms: int) -> DataFrame:
    """As CARRIED, without what was gone by `settled_ms`: messages of a deleted queue, or of an earlier generation than
    a message that was sent by then. A message purged later may still have been overtaken before. `gone` is the result
    of `spark_jobs.lives.gone_in`."""
    sent = lives.where(F.col("is_fifo") & (F.col("sent_ms") <= settled_ms))
    reached = sent.groupBy("uid").agg(F.max("generation").alias("reached"))
    is_gone = (F.col("generation") < F.col("reached")) | (F.col("queue_deleted_ms") <= settled_ms)
    carried = told.where(F.col("kind") == _CARRIED).join(reached, "uid", "left").join(F.broadcast(gone), "uid", "left")
    left = carried.where(~F.coalesce(is_gone, F.lit(False)))
    return left.select(*[part.split()[0] for part in CARRIED.split(", ")])


def findings_in(told: DataFrame) -> DataFrame:
    """Findings with `is_settled`."""
    return told.where(F.col("kind") != _CARRIED).select(*COLUMNS, "is_settled")


def _checked(batches: Iterable[pa.RecordBatch], settled_ms: int, early_ms: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    at: dict[str, Any] | None = None
    group, is_settled = Group(early_ms), True
    for batch in batches:
        told: list[dict[str, object]] = []
        for row in batch.to_pylist():
            if at is None or group_of(row) != group_of(at):
                told += _left(at, group, settled_ms) if is_settled else []
                at, group, is_settled = row, Group(early_ms), True
            moment = Moment(*(row[name] for name in Moment._fields))
            if not row["is_new"]:
                group.carry(moment)
                continue
            if is_settled and moment.time_ms > settled_ms:
                told += _left(at, group, settled_ms)
                is_settled = False
            told += [found(row, moment, *wrong) | _NOTHING | {"is_settled": is_settled} for wrong in group.step(moment)]
        if told:
            yield pa.RecordBatch.from_pylist(told)
    last = _left(at, group, settled_ms) if is_settled else []
    if last:
        yield pa.RecordBatch.from_pylist(last)


def _left(at: dict[str, Any] | None, group: Group, settled_ms: int) -> list[dict[str, object]]:
    """What the group carries over to the next batch."""
    if at is None:
        return []
    key = {name: at[name] for name in ("account", "queue", *GROUP)}
    rest = {"kind": _CARRIED, "run": "", "at_ms": 0, "amount": 0, "detail": "", "is_settled": True}
    return [_in_order(key | rest | moment._asdict()) for moment in group.carried(settled_ms)]


def _in_order(row: dict[str, object]) -> dict[str, object]:
    return {name: row[name] for name in (*COLUMNS, *_NOTHING, "is_settled")}
