"""The report page: verdict first, self-contained, and external data escaped."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.audit import Audit
from spark_jobs.comparison import NoFigures, read_figures
from spark_jobs.gaps import Gap, GapKind
from spark_jobs.integrity import Integrity
from spark_jobs.report import moment_text, without_holes, write_report
from spark_jobs.svg import Series, bars, lines, number
from spark_jobs.totals import Totals
from spark_jobs.verdict import judge

HOSTILE = "<script>alert(1)</script>\"'&"


class Tags(HTMLParser):
    """Checks that tags are properly nested, and collects their names."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        assert not any(name.startswith("on") or value is None for name, value in attrs)
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def found(*, has_gap: bool = False) -> Audit:
    gap = Gap(GapKind.MISSING, HOSTILE, "i", HOSTILE, 3, 1, 2)
    integrity = Integrity(gaps=[gap] if has_gap else [], lines=10, kept=["a"])
    totals = Totals(acknowledged=1_000, received=1_000, deleted=1_000, duplicates=1, found={"corrupted": 0})
    row: dict[str, Any] = {name: 1.5 for name in ("displacement", "duplicates", "p50", "p95", "p99", "max")}
    row |= {"queue": HOSTILE, "account": "1", "tenant": HOSTILE, "acknowledged": 5}
    span: dict[str, Any] = {"from_ms": 1_000, "messages": 5, "again": 2, "displacement": 0.5}
    span |= {"p50": 1, "p95": 2, "p99": 3}
    finding = {"kind": "corrupted", "queue": HOSTILE, "address": HOSTILE, "detail": HOSTILE}
    tables = {
        "queues": [row],
        "tenants": [row],
        "runs": [],
        "spans": [span, span | {"from_ms": 2_000}],
        "redeliveries": [{"reason": "timeout ran out", "count": 1}],
        "findings": [finding],
    }
    return Audit(totals, judge(totals, integrity, is_drained=True), integrity, tables)


@pytest.mark.parametrize("has_gap", [False, True])
def test_page_is_whole_and_nothing_in_it_runs(tmp_path: Path, has_gap: bool) -> None:
    path = write_report(
        found(has_gap=has_gap),
        str(tmp_path),
        title=HOSTILE,
        command=HOSTILE,
        faults=[HOSTILE],
        faults_by_span={1_000: 2},
    )

    text = Path(path).read_text()
    tags = Tags()
    tags.feed(text)
    assert not tags.open
    assert not {"script", "link", "iframe", "img", "object"} & set(tags.names)
    assert "http://" not in text
    assert text.index("<h1>") < text.index("<table>")
    assert f"<h1>{'unproven' if has_gap else 'proven'}</h1>" in text


def test_nothing_lost_is_not_shown_over_a_gap(tmp_path: Path) -> None:
    text = Path(write_report(found(has_gap=True), str(tmp_path), title="t", command="c")).read_text()

    assert "<span>lost</span><b>unproven</b>" in text
    gap = text.partition(">missing events<")[2].partition("</tr>")[0]
    assert re.sub("<[^>]*>", " ", gap).count("1970-01-01 00:00:00 UTC") == 2


def test_figures_stand_beside_the_page_and_can_be_compared_with(tmp_path: Path) -> None:
    write_report(found(), str(tmp_path / "one"), title="the first", command="c", jepsen={"attempts": 7})
    before = read_figures(str(tmp_path / "one"))

    path = write_report(found(), str(tmp_path / "two"), title="the second", command="c", before=before)

    assert before["jepsen"] == {"attempts": 7}
    assert json.loads((tmp_path / "one" / "report.json").read_text())["totals"]["acknowledged"] == 1_000
    assert "Against an earlier run" in Path(path).read_text()
    assert "the first" in Path(path).read_text()


def test_page_is_written_whatever_bytes_a_path_has(tmp_path: Path) -> None:
    path = write_report(found(), str(tmp_path), title="caf\udce9", command="caf\udce9 λ")

    assert "<title>caf?: proven</title>" in Path(path).read_text(encoding="utf-8")
    assert "caf? λ" in Path(path).read_text(encoding="utf-8")


@pytest.mark.parametrize("value", ["12", None, [], float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["displacement", "lost"])
def test_invalid_figures_are_not_compared_with(tmp_path: Path, name: str, value: object) -> None:
    write_report(found(), str(tmp_path), title="then", command="c")
    figures = json.loads((tmp_path / "report.json").read_text())
    figures["verdict" if name == "lost" else "totals"][name] = value
    (tmp_path / "report.json").write_text(json.dumps(figures))

    if name == "lost" and value is None:
        assert read_figures(str(tmp_path))["verdict"]["lost"] is None
        return
    with pytest.raises(NoFigures, match=f"lacks {name}: "):
        read_figures(str(tmp_path))


@pytest.mark.parametrize("text", ["[]", "7", '{"totals": [], "verdict": {}}', '{"totals": {}, "verdict": null}'])
def test_another_file_has_no_figures(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)

    with pytest.raises(NoFigures):
        read_figures(str(tmp_path))


@pytest.mark.parametrize(("has_gap", "shown"), [(False, ["lost", "0", "0", "0"]), (True, ["lost", "0", "-", "-"])])
def test_loss_is_compared_when_both_are_proven(tmp_path: Path, has_gap: bool, shown: list[str]) -> None:
    write_report(found(), str(tmp_path), title="then", command="c")
    before = read_figures(str(tmp_path))

    path = write_report(found(has_gap=has_gap), str(tmp_path), title="now", command="c", before=before)

    compared = Path(path).read_text().partition("Against an earlier run")[2].partition("<tbody>")[2]
    assert re.sub("<[^>]*>", " ", compared.partition("</tr>")[0]).split() == shown


def test_spans_without_a_delivery_are_drawn_as_such() -> None:
    spans = [{"from_ms": at_ms, "messages": 3} for at_ms in (1_000, 2_000, 5_000)]

    drawn = without_holes(spans)

    assert [span["from_ms"] for span in drawn] == [1_000, 2_000, 3_000, 4_000, 5_000]
    assert [span["messages"] for span in drawn] == [3, 3, 0, 0, 3]
    assert without_holes([]) == []
    years = [{"from_ms": at_ms} for at_ms in (0, 1, 1 << 40)]
    assert without_holes(years) == years


@pytest.mark.parametrize(("days", "label"), [(0.5, "22:40:00"), (3, "2026-09-21 22:40:00")])
def test_run_of_days_is_drawn_with_its_dates(tmp_path: Path, days: float, label: str) -> None:
    run = found()
    [span] = run.tables["spans"][:1]
    later = span | {"from_ms": 1_790_030_400_000 + int(days * 86_400_000)}
    tables = run.tables | {"spans": [span | {"from_ms": 1_790_030_400_000}, later]}

    run = replace(run, tables=tables, nodes=("a", "b"), until_ms=1_790_030_400_000)

    write_report(run, str(tmp_path), title="t", command="c")

    page = (tmp_path / "report.html").read_text()
    assert f">{label}</text>" in page
    assert "<dd>a, b</dd>" in page
    assert "<dd>2026-09-21 22:40:00 UTC</dd>" in page


def test_time_that_is_no_date_is_told_as_it_is() -> None:
    assert moment_text(1 << 62).strip() == f"{1 << 62} ms"


def test_plots_of_nothing_one_and_zeros_are_drawn() -> None:
    assert "<svg" in lines([], [], [Series("a", [])])
    assert "circle" in lines([5.0], ["x"], [Series("a", [0.0])])
    broken = lines([1, 2, 3, 9, 10], list("abcde"), [Series("a", [1, 2, None, 3, 4])])
    assert broken.count("<polyline") == 2
    assert "<svg" in bars([], Series("a", []))


def test_bars_of_queues_whose_long_names_begin_or_end_alike_are_told_apart() -> None:
    begin, end = "cqs-50-20261130T183944_d0b6-", "-of-the-platform-team.fifo"
    names = [f"{begin}1", f"{begin}2", f"orders{end}", f"events{end}"]

    shown = re.findall(r'class="label end">([^<]*)</text>', bars(names, Series("a", [1, 2, 3, 4])))

    assert len(set(shown)) == 4
    assert max(map(len, shown)) == 26


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1_234_567, "1,234,567"), (0.123456, "0.123"), (1e-7, "1e-07"), (2_345.6, "2,346")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text
