"""The table of figures has the last run of each drill, in the order of the drills, long and short versions
separately."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.drills.datacenter_faults import ALONE
from tests.drills.drills import DRILLS, Drill
from tests.drills.faults import nothing
from tests.drills.load import Run
from tests.drills.place import Kind
from tests.drills.report import Row, keep
from tests.drills.result import Result
from tests.drills.verdict import Cause, Verdict

ROW = Row(
    name=DRILLS[1].name, place="here", is_long=False, messages=2_000, seed=7, load="light", acknowledged=1_999, lost=0,
    duplicated=3, allowed=4, causes={"copy": 2, "delete": 1}, recovered=1, resurrected=0, stuck=0, out_of_order=0,
    p50_ms=1.5, p99_ms=20.0, recovery_s=0.25, failed_calls=5, faults=1, command="python -m tests.drills",
)  # fmt: skip


def test_last_figures_of_each_drill_are_kept_in_order(tmp_path: Path) -> None:
    other = dataclasses.replace(ROW, name=DRILLS[0].name, seed=8)
    long = dataclasses.replace(ROW, is_long=True, messages=100_000)

    for row in (dataclasses.replace(ROW, seed=1), ROW, long, other):
        keep(row, tmp_path)

    text = (tmp_path / "drills.md").read_text()
    assert [row["seed"] for row in json.loads((tmp_path / "drills.json").read_text()).values()] == [8, 7, 7]
    assert text.index("## Long") < text.index("100,000") < text.index("## Short")
    assert f"| {ROW.name}; here | passed | 2,000 | 7 | 1,999 | 0 | 3 (4) | copy 2, delete 1 | 1 |" in text


def test_drill_that_failed_takes_the_place_of_its_last_success(tmp_path: Path) -> None:
    keep(ROW, tmp_path)
    keep(dataclasses.replace(ROW, lost=2, broken=["2 lost, at most 0"]), tmp_path)

    text = (tmp_path / "drills.md").read_text()
    assert "passed |" not in text
    assert f"| {ROW.name}; here | FAILED: 2 lost, at most 0 | 2,000 |" in text


def test_figures_of_a_drill_that_is_no_more_are_dropped(tmp_path: Path) -> None:
    keep(dataclasses.replace(ROW, name="gone"), tmp_path)

    assert json.loads((tmp_path / "drills.json").read_text()) == {}


def test_what_else_was_counted_stands_beside_the_verdict(tmp_path: Path) -> None:
    keep(dataclasses.replace(ROW, commit="0123abc", told={"in dc1 alone meanwhile": 1_234}), tmp_path)

    text = (tmp_path / "drills.md").read_text()
    assert "| passed; 1,234 in dc1 alone meanwhile |" in text
    assert "; commit 0123abc; `python -m tests.drills`" in text


def test_page_says_which_drills_have_no_figures(tmp_path: Path) -> None:
    keep(ROW, tmp_path)

    lines = (tmp_path / "drills.md").read_text().splitlines()
    long, short = (line.split(": ")[1].split("; ") for line in lines if line.startswith(("- long: ", "- short: ")))
    assert ROW.name in long
    assert ROW.name not in short
    assert DRILLS[2].name in short


def test_bound_on_duplicates_is_a_share_but_in_a_short_version_one_answer_a_fault() -> None:
    drill = Drill("leases lost", Kind.REDIS_SQLITE, nothing)

    assert [drill.duplicates_max(2_000, faults) for faults in (0, 1, 2)] == [10, 10, 20]
    assert [drill.duplicates_max(messages, 12) for messages in (10_000, 100_000)] == [10, 100]


def test_bound_on_duplicates_below_a_thousandth_is_nothing_in_a_short_version() -> None:
    in_flight = Drill("node killed", Kind.EMBEDDED, nothing, duplicates_share=0, duplicates_each=80)
    rolling = Drill("rolling", Kind.EMBEDDED, nothing, duplicates_share=0.000001)

    assert in_flight.duplicates_max(2_000, 2) == 160
    assert [rolling.duplicates_max(messages, 2) for messages in (2_000, 1_000_000)] == [0, 1]


@pytest.mark.parametrize(("cause", "is_long", "is_broken"), [
    (Cause.COPY, False, False), (Cause.DELETE, False, False), (Cause.FAULT, False, True), (Cause.LATE, False, False),
    (Cause.COPY, True, True), (Cause.DELETE, True, True), (Cause.LATE, True, True),
])  # fmt: skip
def test_calls_that_nobody_answered_and_slow_readers_break_no_bound_in_a_short_version(
    cause: Cause, is_long: bool, is_broken: bool
) -> None:
    drill = Drill("drill", Kind.EMBEDDED, nothing, duplicates_share=0)
    run = Run(drill.load, lambda: [1], 7)
    verdict = Verdict(attempted=2_000, acknowledged=2_000, causes=Counter({cause: 11}))

    assert bool(Result(drill, is_long, 7, run, verdict, 1.0).broken) == is_broken


@pytest.mark.parametrize(("alone", "is_broken"), [(0, True), (49, True), (50, False)])
@pytest.mark.parametrize("is_replica_lost", [False, True])
def test_messages_that_were_deleted_in_the_lost_data_centre_alone_may_reappear(
    alone: int, is_broken: bool, is_replica_lost: bool
) -> None:
    drill = Drill("drill", Kind.TWO_DATACENTERS, nothing, duplicates_share=0.01, is_replica_lost=is_replica_lost)
    run = Run(drill.load, lambda: [1], 7)
    run.history.told[ALONE] = alone
    verdict = Verdict(attempted=4_000, acknowledged=4_000, resurrected=50)

    assert bool(Result(drill, False, 7, run, verdict, 1.0).broken) == (is_broken or not is_replica_lost)


def test_drill_in_which_no_call_succeeded_has_no_percentiles() -> None:
    drill = Drill("all dropped", Kind.EMBEDDED, nothing)

    assert Result(drill, False, 7, Run(drill.load, lambda: [1], 7), Verdict(), 1.0).percentiles_ms() == (0.0, 0.0)


def test_names_tell_drills_apart() -> None:
    assert len({drill.name for drill in DRILLS}) == len(DRILLS)
