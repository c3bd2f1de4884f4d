"""docs/metrics.md is generated from the declarations and up to date."""

from __future__ import annotations

from cqs.metrics import reference
from cqs.metrics.declarations import ALL
from tests.unit.sources import ROOT


def test_page_is_current() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text() == reference.as_markdown(), "run `make docs`"


def test_page_names_every_metric_once_in_its_tables() -> None:
    rows = [line.split("`")[1] for line in reference.as_markdown().splitlines() if line.startswith("| `cqs_")]

    assert sorted(rows) == sorted(metric.name for metric in ALL)


def test_list_names_every_metric() -> None:
    assert [line.split()[0] for line in reference.as_text().splitlines()] == [metric.name for metric in ALL]
