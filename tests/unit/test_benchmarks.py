"""The benchmarks' arithmetic: what a ratio is, what counts as a loss, what a scenario asks of the load generator."""

from __future__ import annotations

import os

import msgspec

from benchmarks import figures, proc
from benchmarks.figures import CPU, CPU_PERCENT, P99, THROUGHPUT
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


def run(*samples: Sample) -> Run:
    names = {one.server: one.server.upper() for one in samples}
    scenarios = {one.scenario: f"title of {one.scenario}" for one in samples}
    return Run(
        command="python -m benchmarks", started="2026", machine={}, servers=names, scenarios=scenarios,
        samples=list(samples),
    )  # fmt: skip


def test_ratio_compares_windows_of_the_same_round() -> None:
    noisy = run(
        *(sample("cqs", 0, 300), sample("elasticmq", 0, 100)),
        *(sample("cqs", 1, 30), sample("elasticmq", 1, 10)),
        *(sample("cqs", 2, 330), sample("elasticmq", 2, 100)),
    )

    ours = figures.cells([noisy])[0].figure(THROUGHPUT)

    assert (ours.median, ours.lowest, ours.highest, ours.rounds) == (300, 30, 330, 3)
    assert ours.ratio == 3.0


def test_without_the_measure_there_is_no_ratio() -> None:
    assert figures.cells([run(sample("cqs", 0, 300))])[0].figure(THROUGHPUT).ratio is None


def test_the_last_run_of_a_scenario_with_the_same_servers_counts_alone() -> None:
    old, new = run(sample("cqs", 0, 100)), run(sample("cqs", 0, 200))
    others = run(sample("cqs", 0, 300), sample("goaws", 0, 1))

    found = figures.cells([old, others, new])

    assert [(cell.server, cell.figure(THROUGHPUT).median) for cell in found] == [
        ("cqs", 200),
        ("cqs", 300),
        ("goaws", 1),
    ]


def test_cpu_is_counted_per_thousand_calls_and_for_idle_loads_per_second() -> None:
    cell = figures.cells([run(sample("cqs", 0, 100))])[0]

    assert cell.figure(CPU).median == 500
    assert cell.figure(CPU_PERCENT).median == 5


def test_a_faster_peer_is_a_loss_and_so_is_one_with_shorter_times() -> None:
    slow = figures.cells([run(sample("cqs", 0, 100), sample("elasticmq", 0, 200), sample("cqs-memory", 0, 900))])
    late = figures.cells([run(sample("cqs", 0, 100, mode="rate"), sample("elasticmq", 0, 200, mode="rate"))])

    assert figures.losses(slow) == ["title of mixed: elasticmq 200 messages/s, we 100."]
    assert figures.leading_metric(late[0]) is P99
    assert len(figures.losses(late)) == 1
    assert figures.losses(figures.cells([run(sample("cqs", 0, 300), sample("elasticmq", 0, 200))])) == []


def test_page_has_every_server_and_the_commands_that_made_it() -> None:
    page = markdown([run(sample("cqs", 0, 100), sample("elasticmq", 0, 200))], [("Throughput", "benchmarks/t.svg")])

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
