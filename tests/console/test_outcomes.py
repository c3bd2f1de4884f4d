"""The list of reports shows the results of audits and drills, read from the files that their jobs really write."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from admin.console import About
from admin.outcomes import DRILLS_MAX, READ_BYTES_MAX, drills_of
from spark_jobs.report import write_report
from tests.console.desk import Desk, make_desk
from tests.console.hostile import let_through
from tests.drills.report import DOCS, keep
from tests.drills.test_report import ROW
from tests.spark.test_report import found


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Desk]:
    made = await make_desk(about=About(reports=tmp_path))
    yield made
    await made.client.close()


async def test_verdicts_of_audits_lead_to_their_pages(reader: Desk, tmp_path: Path) -> None:
    write_report(found(), str(tmp_path / "nightly"), title="<b>night", command="c")
    write_report(found(has_gap=True), str(tmp_path / "hourly"), title="hour", command="c")

    page = await reader.get("/reports")

    assert "<b>night proven 1,000 0 1" in page.words
    assert "hour unproven 1,000" in page.words
    assert page.text.count('href="/ADMIN/reports/nightly/report.html"') == 2
    assert not let_through(page.text)


async def test_audit_that_goes_on_is_listed_by_its_folder(reader: Desk, tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    told = {
        "verdict": dataclasses.asdict(found().verdict),
        "totals": {"acknowledged": 1_234, "duplicates": 5},
        "waiting": 0,
    }
    (tmp_path / "live" / "figures.json").write_text(json.dumps(told))

    page = await reader.get("/reports")

    assert "live proven 1,234 0 5" in page.words
    assert 'href="/ADMIN/reports/live/figures.json"' in page.text


async def test_drills_are_listed_and_opened_with_what_repeats_them(reader: Desk, tmp_path: Path) -> None:
    keep(ROW, tmp_path / "july")
    keep(dataclasses.replace(ROW, is_long=True, lost=2, broken=["2 lost, at most 0"]), tmp_path / "july")

    listed = await reader.get("/reports")
    opened = await reader.get("/reports/july/drills.json")

    for page in (listed, opened):
        assert f"{ROW.name} here passed 1,999 0 3 (4) 0 20 ms 250 ms" in page.words
        assert "failed 2 lost, at most 0" in page.words
        assert page.words.index("failed 2 lost") < page.words.index("passed 1,999")
    assert "python -m tests.drills" in opened.text


def test_the_drills_of_this_project_are_read() -> None:
    content = (DOCS / "drills.json").read_bytes()

    assert len(drills_of(content)) == len(json.loads(content)) > 10


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"x": 5}', b'{"x": {"name": 5}}', b'{"x": {}}', b"\xff", b"[" * 100_000]
)
async def test_files_that_are_no_outcome_are_only_files(reader: Desk, tmp_path: Path, content: bytes) -> None:
    for name in ("report.json", "figures.json", "drills.json"):
        (tmp_path / name).write_bytes(content)

    page = await reader.get("/reports")

    assert (page.status, "Audits" in page.words, "Fault drills" in page.words) == (200, False, False)
    assert (await reader.get("/reports/drills.json")).status == 200


def test_rows_are_bounded() -> None:
    rows = {str(number): {"name": "x"} for number in range(DRILLS_MAX + 1)}

    assert len(drills_of(json.dumps(rows).encode())) == DRILLS_MAX


async def test_a_file_that_is_too_large_is_not_read_for_the_list(reader: Desk, tmp_path: Path) -> None:
    write_report(found(), str(tmp_path), title="large", command="c")
    with (tmp_path / "report.json").open("a") as file:
        file.write(" " * READ_BYTES_MAX)

    assert "proven" not in (await reader.get("/reports")).words
