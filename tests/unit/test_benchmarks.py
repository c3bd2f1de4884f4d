"""The benchmarks' calculations: ratios, what counts as a loss, and a scenario's flags of the load generator."""

from __future__ import annotations

import os

import msgspec
import pytest

from benchmarks import bars, figures, proc, run
from benchmarks.figures import CPU, CPU_PERCENT, P99, THROUGHPUT
from benchmarks.paper import PAPER, PAPER_SYNCS, paper_table, scenario_of
from benchmarks.plan import PLAN
from benchmarks.report import markdown
from benchmarks.results import Calls, Latency, Load, Run, Sample
from benchmarks.scenarios import SCENARIOS, SETS


def sample(server: str, repetition: int, rate: float, *, scenario: str = "mixed", mode: str = "mixed") -> Sample:
    latency = Latency(mean=1, p50=1, p95=2, p99=1000 / rate, p99_9=4, max=5)
    calls = {"send": Calls(calls=1000, calls_per_s=rate, messages=1000, messages_per_s=rate, latency_ms=latency)}
    names = ("empty_receives", "errors", "reconnects", "bytes_in", "bytes_out", "md5_checked")
    counts = dict.fromkeys((*names, "acknowledged", "received", "duplicates", "waiting"), 0)
    load = msgspec.convert(
        {
            "mode": mode,
            "seconds": 10.0,
            "calls_per_s": rate,
            "messages_per_s": rate,
            "calls": msgspec.to_builtins(calls),
            "setup_seconds": 0.0,
            "generator_cpu_s": 0.0,
            **counts,
        },
        Load,
    )
    return Sample(
        scenario=scenario,
        server=server,
        repetition=repetition,
        command="load -mode=mixed",
        cpu_s=0.5,
        resident_mb=50.0,
        other_cpu=0.0,
        load=load,
    )


def run_of(*samples: Sample) -> Run:
    names = {one.server: one.server.upper() for one in samples}
    scenarios = {one.scenario: f"title of {one.scenario}" for one in samples}
    return Run(
        command="python -m benchmarks", started="2026", machine={}, servers=names, scenarios=scenarios,
        samples=list(samples),
    )  # fmt: skip


def test_ratio_compares_windows_of_the_same_round() -> None:
    noisy = run_of(
        *(sample("cqs", 0, 300), sample("elasticmq", 0, 100)),
        *(sample("cqs", 1, 30), sample("elasticmq", 1, 10)),
        *(sample("cqs", 2, 330), sample("elasticmq", 2, 100)),
    )

    ours = figures.cells([noisy])[0].figure(THROUGHPUT)

    assert (ours.median, ours.lowest, ours.highest, ours.rounds) == (300, 30, 330, 3)
    assert ours.ratio == 3.0


def test_without_the_measure_there_is_no_ratio() -> None:
    assert figures.cells([run_of(sample("cqs", 0, 300))])[0].figure(THROUGHPUT).ratio is None


def test_the_last_run_of_a_scenario_with_the_same_servers_counts_alone() -> None:
    old, new = run_of(sample("cqs", 0, 100)), run_of(sample("cqs", 0, 200))
    others = run_of(sample("cqs", 0, 300), sample("goaws", 0, 1))

    found = figures.cells([old, others, new])

    assert [(cell.server, cell.figure(THROUGHPUT).median) for cell in found] == [
        ("cqs", 200),
        ("cqs", 300),
        ("goaws", 1),
    ]


def test_cpu_is_counted_per_thousand_calls_and_for_idle_loads_per_second() -> None:
    cell = figures.cells([run_of(sample("cqs", 0, 100))])[0]

    assert cell.figure(CPU).median == 500
    assert cell.figure(CPU_PERCENT).median == 5


def test_a_faster_peer_is_a_loss_and_so_is_one_with_shorter_times() -> None:
    slow = figures.cells([run_of(sample("cqs", 0, 100), sample("elasticmq", 0, 200), sample("cqs-memory", 0, 900))])
    late = figures.cells([run_of(sample("cqs", 0, 100, mode="rate"), sample("elasticmq", 0, 200, mode="rate"))])

    assert figures.losses(slow) == ["title of mixed: elasticmq 200 messages/s, we 100."]
    assert figures.leading_metric(late[0]) is P99
    assert len(figures.losses(late)) == 1
    assert figures.losses(figures.cells([run_of(sample("cqs", 0, 300), sample("elasticmq", 0, 200))])) == []


def test_page_has_every_server_and_the_commands_that_made_it() -> None:
    page = markdown([run_of(sample("cqs", 0, 100), sample("elasticmq", 0, 200))], [("Throughput", "benchmarks/t.svg")])

    assert "| title of mixed | cqs | 100 messages/s |" in page
    assert "| title of mixed | elasticmq | 200 messages/s |" in page
    assert "python -m benchmarks" in page and "load -mode=mixed" in page and "(benchmarks/t.svg)" in page


def test_scenarios_have_one_meaning_each() -> None:
    members = [scenario for scenarios in SETS.values() for scenario in scenarios]

    assert all(SCENARIOS[scenario.name].flags() == scenario.flags() for scenario in members)
    assert len({scenario.title for scenario in SCENARIOS.values()}) == len(SCENARIOS)
    assert all(scenario.batch * scenario.size <= 1 << 20 for scenario in members)


def test_usage_sees_this_process() -> None:
    usage = proc.usage([os.getpid()])

    assert usage.processes >= 1
    assert usage.resident_mb > 5
    assert proc.usage([]).processes == 0


def test_a_bar_compares_within_rounds_of_the_newest_run_that_has_both() -> None:
    title = "singles, 64 clients, to goaws"
    old = run_of(sample("cqs", 0, 900, scenario="mixed-64x1"), sample("goaws", 0, 100, scenario="mixed-64x1"))
    rounds = [(300, 100), (30, 20), (330, 100)]
    new = run_of(
        *(sample("cqs", number, ours, scenario="mixed-64x1") for number, (ours, _) in enumerate(rounds)),
        *(sample("goaws", number, theirs, scenario="mixed-64x1") for number, (_, theirs) in enumerate(rounds)),
    )
    alone = run_of(sample("cqs", 0, 1, scenario="mixed-64x1"))

    rows = {row[0]: row for row in bars.rows([old, new, alone])}

    assert rows[title] == (title, "1.1x", "1.5x", "3.00x", "met", "3")
    assert rows["100,000 queues to 10"][3:] == ("not measured", "", "")


def test_a_bar_without_another_side_is_the_figure_itself() -> None:
    idle = run_of(sample("cqs", 0, 100, scenario="pollers-1000", mode="idle"))

    assert ("1,000 idle long pollers, of a core", "2 %", "0.5 %", "5 %", "missed", "1") in bars.rows([idle])


def test_a_bar_is_missed_however_narrowly() -> None:
    runs = [run_of(sample("cqs", 0, rate, scenario="queues-100000"), sample("cqs", 0, 1000, scenario="queues-10"))
            for rate in (899.9, 900)]  # fmt: skip
    told = [{row[0]: row[3:5] for row in bars.rows([run])}["100,000 queues to 10"] for run in runs]

    assert told == [("0.900x", "missed"), ("0.900x", "met")]


def test_the_papers_table_has_a_row_for_each_goal_that_was_measured() -> None:
    measured = run_of(*(sample("paper", 0, rate, scenario=scenario_of(goal), mode="rate")
                        for goal, rate in ((50, 480), (90, 900))))  # fmt: skip

    head, line, *rows = paper_table([run_of(sample("cqs", 0, 1)), measured])

    assert head.count("|") == line.count("|") == rows[0].count("|")
    assert [row.split("|")[1:3] for row in rows] == [[" 50 ", " 480 (420) "], [" 90 ", " 900 "]]
    assert list(PAPER) == sorted(PAPER)


def test_the_papers_table_tells_the_syncs_of_the_commit_log_apart() -> None:
    runs = [
        run_of(sample("paper", 0, rate, scenario=scenario_of(50, sync), mode="rate"))
        for sync, rate in (("batch", 480), ("periodic", 490))
    ]

    told = {sync: paper_table(runs, sync)[2:] for sync in PAPER_SYNCS}

    assert [row.split("|")[2] for (row,) in told.values()] == [" 480 (420) ", " 490 (420) "]
    assert paper_table([]) == []


@pytest.mark.parametrize("name", [name for name, command in PLAN.items() if command[0] == "benchmarks"])
def test_the_plans_runs_are_valid_and_have_the_server_that_ratios_are_to_or_us_alone(name: str) -> None:
    options = run.arguments(PLAN[name][1:])

    assert "elasticmq" in options.servers or options.servers == ["cqs"]
    assert options.repetitions >= 5
    assert all(run.chosen(options))


def test_the_plan_measures_both_sides_of_every_bar() -> None:
    planned = {
        (scenario, server)
        for command in PLAN.values()
        if command[0] == "benchmarks"
        for scenario in run.arguments(command[1:]).only
        for server in run.arguments(command[1:]).servers
    }
    sides = {side for bar in bars.BARS for side in (bar.ours, bar.theirs) if side is not None}

    assert {(side.scenario, side.server) for side in sides if "node" not in side.server} <= planned
