"""Audit reports: listed and opened, and nothing else of the disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from admin.console import About
from tests.console.desk import Desk, make_desk


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
