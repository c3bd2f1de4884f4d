"""Audit reports are listed and can be opened; no other files of the disk can."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from admin.console import About
from cqs.identity import Role
from spark_jobs.report import write_report
from tests.console.desk import Desk, make_desk
from tests.console.hostile import let_through
from tests.engine import ACCOUNT
from tests.spark.test_report import found


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Desk]:
    folder = tmp_path / "reports"
    (folder / "july").mkdir(parents=True)
    (folder / "audit.html").write_text("<h1>Loss: 0</h1><script>alert(1)</script>")
    (folder / "july" / "losses.json").write_text('{"lost": 0}')
    (folder / "script.js").write_text("alert(1)")
    (folder / ".hidden.txt").write_text("hidden")
    (tmp_path / "secret.txt").write_text("top secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to(tmp_path)
    made = await make_desk(about=About(reports=folder))
    yield made
    await made.client.close()


async def test_reports_are_listed(reader: Desk) -> None:
    page = await reader.get("/reports")

    assert "audit.html" in page.words
    assert "july/losses.json" in page.words
    for name in ("script.js", "hidden", "link", "secret"):
        assert name not in page.words


async def test_a_text_is_shown_as_text(reader: Desk) -> None:
    assert '{"lost": 0}' in (await reader.get("/reports/july/losses.json")).words


async def test_a_page_is_shown_in_a_frame_that_is_locked_up(reader: Desk) -> None:
    page = await reader.get("/reports/audit.html")
    raw = await reader.get("/reports/raw/audit.html")

    assert '<iframe class="report" sandbox src="/ADMIN/reports/raw/audit.html"' in page.text
    policy = raw.headers["Content-Security-Policy"]
    assert policy.endswith("; sandbox")
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert raw.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_report_is_taken_away(reader: Desk) -> None:
    file = await reader.get("/reports/raw/audit.html?download=1")

    assert file.headers["Content-Disposition"].startswith('attachment; filename="audit.html"')
    assert file.headers["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "..%2fsecret.txt",
        "%2e%2e/secret.txt",
        "july/../../secret.txt",
        "up/secret.txt",
        "link.txt",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        ".hidden.txt",
        "script.js",
        "july",
        "nothing.html",
        "audit.html%00.txt",
        "audit.html/",
        "a" * 5_000,
    ],
)
async def test_nothing_else_of_the_disk_is_given_out(reader: Desk, name: str) -> None:
    for path in ("/reports/", "/reports/raw/"):
        page = await reader.get(path + name)
        assert page.status == 404
        assert "secret" not in page.text.replace("secret.txt", "")


async def test_without_a_folder_there_are_no_reports(desk: Desk) -> None:
    assert "No reports yet" in (await desk.get("/reports")).words


async def test_messages_that_an_audit_names_lead_to_them(reader: Desk) -> None:
    address = "6887e835-a400-8000-8000-417ff82c5523"
    row = {"kind": "lost", "account": ACCOUNT, "queue": "<b>orders", "address": address, "at_ms": 5, "detail": "<i>x"}
    odd = [
        {"kind": "lost"},
        row | {"account": "../.."},
        row | {"address": "javascript:alert(1)"},
        row | {"queue": None},
    ]
    assert reader.console.about.reports is not None
    folder = reader.console.about.reports / "july"
    (folder / "report.html").write_text("<h1>VIOLATED</h1>")
    (folder / "report.json").write_text(json.dumps({"tables": {"findings": [row, *odd]}, "more": 1}))

    page = await reader.get("/reports/july/report.html")

    assert page.text.count(f"/messages/{address}") == 1
    assert "lost <b>orders" in page.words
    assert not let_through(page.text)
    (folder / "report.json").write_text('{"tables": 5}')
    assert (await reader.get("/reports/july/report.html")).status == 200


async def test_reports_are_no_business_of_another_account(reader: Desk) -> None:
    await reader.add_user("root", Role.ADMINISTRATOR)
    await reader.add_user("stranger", Role.ADMINISTRATOR, "111122223333")
    await reader.log_in("stranger")

    for path in ("/reports", "/reports/audit.html", "/reports/raw/audit.html"):
        assert (await reader.get(path)).status == 403
    assert "Audit reports" not in (await reader.get("/")).words


async def test_report_of_an_audit_is_opened_from_its_folder(reader: Desk, tmp_path: Path) -> None:
    """As `make audit AUDIT="--output REPORTS_DIR/nightly"` leaves it."""
    write_report(found(), str(tmp_path / "reports" / "nightly"), title="nightly", command="c")

    listed = await reader.get("/reports")
    shown = await reader.get("/reports/raw/nightly/report.html")

    assert "nightly/report.html" in listed.words
    assert "nightly/report.json" in listed.words
    assert "<h1>proven</h1>" in shown.text
