"""The dashboard and the alerts use only existing metrics and labels."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cqs.metrics.declarations import ALL, Kind, Metric
from tests.needs import needs
from tests.unit.sources import ROOT

PROMETHEUS, GRAFANA = ROOT / "deploy" / "prometheus", ROOT / "deploy" / "grafana"
BY_NAME = {metric.name: metric for metric in ALL}
SERIES = {
    name: metric
    for metric in ALL
    for name in (
        [metric.name + part for part in ("_bucket", "_sum", "_count")]
        if metric.kind is Kind.HISTOGRAM
        else [metric.name]
    )
}
FOREIGN = {
    "up",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_open_fds",
    "process_max_fds",
}
ADDED = {"instance", "job", "le"}
"""Labels that Prometheus itself or histograms add."""
_WORD = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_NOT_METRICS = {
    "sum", "min", "max", "count", "rate", "delta", "increase", "topk", "histogram_quantile",
    "by", "on", "and", "or", "unless",
}  # fmt: skip


def alerts() -> list[tuple[str, str]]:
    """Name and expression of each."""
    text = (PROMETHEUS / "alerts.yml").read_text()
    return re.findall(r"- alert: (\w+)\n +expr: >-\n +(.+)\n", text)


def panels() -> Iterator[tuple[str, str]]:
    """Title and expression of every target of every panel."""
    for path in sorted(GRAFANA.glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", []):
                yield panel["title"], target["expr"]


EXPRESSIONS = [*alerts(), *panels()]


def metrics_of(expression: str) -> list[str]:
    """Names of series in it: words that are no function, no label and no value."""
    bare = re.sub(r'"[^"]*"|\[[^]]*\]|\{[^}]*\}', "", expression)
    bare = re.sub(r"\b(by|on|group_left)\s*\([^)]*\)", "", bare)
    return [word for word in _WORD.findall(bare) if word not in _NOT_METRICS]


def labels_of(expression: str) -> set[str]:
    """Labels that it chooses by or groups by."""
    chosen = {
        match for braces in re.findall(r"\{([^}]*)\}", expression) for match in re.findall(r"(\w+)\s*[!=]", braces)
    }
    grouped = {word for group in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expression) for word in _WORD.findall(group)}
    return chosen | grouped


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS, ids=lambda value: value[:40])
def test_every_metric_exists(where: str, expression: str) -> None:
    names = metrics_of(expression)

    assert names
    assert [name for name in names if name not in SERIES and name not in FOREIGN] == []


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS, ids=lambda value: value[:40])
def test_every_label_exists(where: str, expression: str) -> None:
    metrics: list[Metric] = [SERIES[name] for name in metrics_of(expression) if name in SERIES]
    known = ADDED | {label for metric in metrics for label in metric.labels}

    assert labels_of(expression) - known == set()


def test_dashboard_shows_nearly_everything() -> None:
    shown = {SERIES[name].name for _, expression in panels() for name in metrics_of(expression) if name in SERIES}
    left_out = {metric.name for metric in ALL} - shown

    assert left_out == {
        "cqs_messages_arrived_total",
        "cqs_visibility_changes_total",
        "cqs_purges_total",
        "cqs_retention_seconds",
        "cqs_leader",
        "cqs_build_info",
    }


def test_dashboard_can_be_imported_anywhere() -> None:
    (path,) = GRAFANA.glob("*.json")
    dashboard = json.loads(path.read_text())
    sources = {json.dumps(panel["datasource"]) for panel in dashboard["panels"] if "datasource" in panel}

    assert "id" not in dashboard
    assert sources == {'{"type": "prometheus", "uid": "${datasource}"}'}
    assert [one["title"] for one in dashboard["panels"] if one["type"] == "row"][:3] == ["Overview", "Queue", "Node"]


def test_panels_do_not_overlap() -> None:
    (path,) = GRAFANA.glob("*.json")
    taken: dict[tuple[int, int], str] = {}
    for panel in json.loads(path.read_text())["panels"]:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"]
                assert x < 24


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    text = (PROMETHEUS / "alerts.yml").read_text()
    guide = (PROMETHEUS / "README.md").read_text()
    names = [name for name, _ in alerts()]

    assert len(names) == text.count("- alert:") == 17
    assert text.count("severity: critical") + text.count("severity: warning") == len(names)
    for name in names:
        assert f"### {name}\n" in guide
        assert f"README.md#{name.lower()}\n" in text
    assert guide.count("\nTo do: ") == len(names)


_OF_TWO_WORKERS = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: 'cqs_dirty_shards{{instance="a", job="cqs", worker="1"}}'
        values: "1x20"
      - series: 'cqs_dirty_shards{{instance="a", job="cqs", worker="2"}}'
        values: "1x20"
      - series: 'cqs_messages_from_store_total{{instance="a", job="cqs", account="1", queue="orders"}}'
        values: "0+60x20"
      - series: 'cqs_store_hosts_lost{{instance="a", job="cqs", worker="1"}}'
        values: "1x20"
      - series: 'cqs_store_hosts_lost{{instance="a", job="cqs", worker="2"}}'
        values: "1x20"
      - series: 'cqs_journal_missing_events_total{{instance="a", job="cqs", worker="1"}}'
        values: "0+1x20"
      - series: 'cqs_journal_missing_events_total{{instance="a", job="cqs", worker="2"}}'
        values: "0+1x20"
    promql_expr_test:
      - expr: count by (alertname) (ALERTS)
        eval_time: 15m
        exp_samples:
          - {{labels: '{{alertname="CqsServedFromStore"}}', value: 1}}
          - {{labels: '{{alertname="CqsStoreHostsLost"}}', value: 1}}
          - {{labels: '{{alertname="CqsJournalIncomplete"}}', value: 1}}
"""


@needs("promtool")
def test_a_trouble_of_a_node_with_workers_raises_one_alert(tmp_path: Path) -> None:
    tests = tmp_path / "tests.yml"
    tests.write_text(_OF_TWO_WORKERS.format(rules=PROMETHEUS / "alerts.yml"))

    done = subprocess.run(["promtool", "test", "rules", tests], capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stdout + done.stderr


@needs("promtool")
def test_prometheus_reads_rules_and_configuration() -> None:
    done = subprocess.run(
        ["promtool", "check", "config", "prometheus.yml"], cwd=PROMETHEUS, capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(alerts())} rules found" in done.stdout
