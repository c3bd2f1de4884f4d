"""Checks two FIFO rules along the timeline of each message group:

    order           nothing is delivered while an earlier message of the group is unfinished, unless one call delivers
                    both:     deliver 1 · deliver 2     wrong        deliver 1,2     right      deliver 1 · delete 1 · 2
    one consumer    nothing is delivered while another call holds a message of the group

Unfinished: sent, and not yet deleted (as far as is known), moved or expired. With differing clocks, a finish counts
from `skew_ms` before its logged time, so on the timeline it may precede the delivery that it really followed by up to
twice that. A delete counts from when it began, because it is logged after the cache has answered: the next message may
be taken before that. A receive that finds the first message dead or expired hands out the next one, and the move or
expiry is logged when it is done: it counts from TOLD_LATE_MS before that, but not from before the message was visible.
The state is the unfinished messages of one group, about 200 bytes per message.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.findings import COLUMNS, Kind
from spark_jobs.staged import together
from spark_jobs.tables import ARRIVED, is_event

if TYPE_CHECKING:
    import pyarrow as pa

_SENDS = (EventName.SENT.value, ARRIVED)
_FINISHES = (EventName.DELETED.value, EventName.MOVED.value, EventName.EXPIRED.value, EventName.DOUBTFUL.value)
_UNFINISHED, _FINISHED = "unfinished", "finished"
TOLD_LATE_MS = 10_000
GROUP = ("uid", "generation", "tenant")
"""The columns that identify a message group. A purge ends its messages: later messages belong to a new group."""
LINE_ORDER = ("time_ms", "is_send", "receive_number", "at_ms", "number")
FINDINGS = (
    "kind string, account string, queue string, uid long, tenant string, run string, address string, at_ms long, "
    "amount long, detail string"
)


class Moment(NamedTuple):
    """One step of a message of the group."""

    event: str
    time_ms: int
    address: str
    sequence: int
    call: str
    until_ms: int


class Group:
    """One message group, stepped through in order of time; finishes may be up to `early_ms` early."""

    def __init__(self, early_ms: int = 0) -> None:
        self._early_ms = early_ms
        self._just_finished: deque[tuple[int, str]] = deque()
        self._unfinished: dict[int, str] = {}
        self._lowest: list[int] = []
        self._held: dict[int, tuple[int, str]] = {}
        self._sequences: dict[str, int] = {}

    def step(self, moment: Moment) -> list[tuple[Kind, int]]:
        """What is wrong with this step: the kind, and the sequence number of the other message."""
        if moment.event in _SENDS:
            if not self._is_finished(moment):
                self._begin(moment)
            return []
        sequence = self._sequences.get(moment.address, moment.sequence)
        if moment.event in _FINISHES:
            self._unfinished.pop(sequence, None)
            self._held.pop(sequence, None)
            self._sequences.pop(moment.address, None)
            self._just_finished.append((moment.time_ms, moment.address))
            return []
        if moment.event == EventName.HIDDEN.value:
            if sequence in self._held:
                self._held[sequence] = (moment.until_ms, self._held[sequence][1])
            return []
        self._begin(moment)
        wrong = self._wrong(moment)
        if self._is_finished(moment):
            self._unfinished.pop(sequence, None)
            self._sequences.pop(moment.address, None)
        else:
            self._held[sequence] = (moment.until_ms, moment.call)
        return wrong

    def carried(self, until_ms: int) -> list[Moment]:
        """The state after all steps up to `until_ms`, as input to `carry` of a new group."""
        left = [
            Moment(_UNFINISHED, until_ms, address, sequence, call, held_until_ms)
            for sequence, address in self._unfinished.items()
            for held_until_ms, call in [self._held.get(sequence, (0, ""))]
        ]
        return left + [
            Moment(_FINISHED, time_ms, address, 0, "", 0)
            for time_ms, address in self._just_finished
            if time_ms >= until_ms - self._early_ms
        ]

    def carry(self, moment: Moment) -> None:
        """Restores carried state; call it before any step, in order of time."""
        if moment.event == _FINISHED:
            self._just_finished.append((moment.time_ms, moment.address))
            return
        self._begin(moment)
        if moment.call:
            self._held[moment.sequence] = (moment.until_ms, moment.call)

    def _is_finished(self, moment: Moment) -> bool:
        """Whether its finish was already seen, early."""
        while self._just_finished and self._just_finished[0][0] < moment.time_ms - self._early_ms:
            self._just_finished.popleft()
        return any(address == moment.address for _, address in self._just_finished)

    def _begin(self, moment: Moment) -> None:
        if moment.sequence and moment.address not in self._sequences:
            self._sequences[moment.address] = moment.sequence
            self._unfinished[moment.sequence] = moment.address
            heappush(self._lowest, moment.sequence)

    def _wrong(self, moment: Moment) -> list[tuple[Kind, int]]:
        for sequence in [s for s, (until_ms, _) in self._held.items() if until_ms <= moment.time_ms]:
            del self._held[sequence]
        others = (s for s, (_, call) in self._held.items() if call != moment.call and s != moment.sequence)
        holder = min(others, default=0)
        if holder:
            return [(Kind.FIFO_TWO_CONSUMERS, holder)]
        earlier = self._lowest_outside(moment.call)
        return [(Kind.FIFO_ORDER, earlier)] if earlier < moment.sequence else []

    def _lowest_outside(self, call: str) -> int:
        """The lowest unfinished sequence number that this call does not hold."""
        own: list[int] = []
        lowest = 1 << 127
        while self._lowest:
            first = self._lowest[0]
            if first not in self._unfinished:
                heappop(self._lowest)
            elif self._held.get(first, (0, ""))[1] == call:
                own.append(heappop(self._lowest))
            else:
                lowest = first
                break
        for sequence in own:
            heappush(self._lowest, sequence)
        return lowest


def fifo_violations(steps: DataFrame, lives: DataFrame, skew_ms: int = 0) -> DataFrame:
    """Findings of kind FIFO_ORDER and FIFO_TWO_CONSUMERS, one per wrong delivery."""
    line = line_of(steps, lives, skew_ms)
    ordered = together(line, *GROUP).sortWithinPartitions(*GROUP, *LINE_ORDER)

    def check(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        return _checked(batches, 2 * skew_ms)

    return ordered.mapInArrow(check, FINDINGS)


def line_of(steps: DataFrame, lives: DataFrame, skew_ms: int = 0, after_ms: int = 0) -> DataFrame:
    """Steps of messages in FIFO queues with their GROUP: the fields of a Moment, and the rest of LINE_ORDER. A step
    that happened after `after_ms` never counts from before it. Excluded are sends logged after their message was
    already received, and early doubts about a send."""
    own = ("generation", "tenant", "run", "sent_ms")
    seen_ms = F.least("first_received_ms", "deleted_ms", "moved_ms", "expired_ms").alias("seen_ms")
    known = lives.where("is_fifo").select("address", *[F.col(name).alias(f"of_{name}") for name in own], seen_ms)
    finishes, is_old = is_event(*_FINISHES), F.col("received_ms") > F.col("deleted_before_ms") + skew_ms
    found_ms = F.greatest(F.col("time_ms") - TOLD_LATE_MS, F.col("of_sent_ms") + 1, "previous_until_ms")
    left_ms = F.when(is_event(EventName.MOVED, EventName.EXPIRED), found_ms)
    early_ms = F.when(finishes | is_event(EventName.HIDDEN), skew_ms).otherwise(0)
    begun_ms = F.when(F.col("begun_ms") > 0, F.col("begun_ms"))
    hidden_ms = F.when(is_event(EventName.HIDDEN), F.col("received_ms"))
    time_ms = F.greatest(F.least("time_ms", left_ms, begun_ms) - early_ms, hidden_ms)
    is_late = is_event(*_SENDS) & (F.col("seen_ms") < F.col("time_ms"))
    is_early = is_event(EventName.DOUBTFUL) & (F.col("time_ms") <= F.col("of_sent_ms"))
    moments = (
        steps.where("is_fifo").join(known, "address").where(~F.coalesce(is_old | is_late | is_early, F.lit(False)))
    )
    return moments.select(
        *[F.col(name) for name in ("account", "queue", "uid", "address")],
        *[F.col(f"of_{name}").alias(name) for name in own if name != "sent_ms"],
        F.when(F.col("is_replay"), EventName.HIDDEN.value).otherwise(F.col("event")).alias("event"),
        F.greatest(time_ms, F.least("time_ms", F.lit(after_ms + 1))).alias("time_ms"),
        "sequence",
        F.concat_ws("/", "node", "incarnation", F.col("call").cast("string")).alias("call"),
        F.col("hidden_until_ms").alias("until_ms"),
        is_event(*_SENDS).alias("is_send"),
        *("receive_number", "at_ms", "number"),
    )


def _checked(batches: Iterable[pa.RecordBatch], early_ms: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    present: tuple[object, ...] = ()
    group = Group(early_ms)
    for batch in batches:
        told: list[dict[str, object]] = []
        for row in batch.to_pylist():
            if group_of(row) != present:
                present, group = group_of(row), Group(early_ms)
            moment = Moment(*(row[name] for name in Moment._fields))
            told += [found(row, moment, *wrong) for wrong in group.step(moment)]
        if told:
            yield pa.RecordBatch.from_pylist(told)


def group_of(row: Mapping[str, object]) -> tuple[object, ...]:
    """The message group of a row of the timeline."""
    return tuple(row[name] for name in GROUP)


def found(row: Mapping[str, object], moment: Moment, kind: Kind, other: int) -> dict[str, object]:
    """The finding for what is wrong with the moment in a row of the timeline."""
    told = {"kind": kind.value, "at_ms": moment.time_ms, "amount": 1, "detail": f"other sequence {other}"}
    return {name: told.get(name, row.get(name)) for name in COLUMNS}
