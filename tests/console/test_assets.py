"""The assets of the pages: only known files, unchanged, small, and served by the console itself."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from admin.assets import STATIC, Assets
from admin.rendering import TEMPLATES
from tests.console.desk import Desk

VENDOR = STATIC / "vendor"
FIRST_LOAD_BYTES_MAX = 150_000


def test_files_of_others_are_as_they_were_published() -> None:
    lines = [line.split("  ") for line in (VENDOR / "SHA256SUMS").read_text().splitlines()]
    sums = {name: digest for digest, name in lines}

    assert sums.keys() == {path.name for path in VENDOR.iterdir()} - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name


def test_files_of_others_come_with_their_licences() -> None:
    for name in ("htmx", "uplot"):
        assert list(VENDOR.glob(f"{name}-*.js"))
        assert "permission" in (VENDOR / f"{name}-LICENSE.txt").read_text().lower()


def test_no_template_has_inline_script_or_style() -> None:
    wrong = []
    for path in [*TEMPLATES.rglob("*.html"), *STATIC.glob("*.js")]:
        text = path.read_text()
        found = re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\son[a-z]+=|javascript:|hx-on|innerHTML\s*=", text)
        wrong += [f"{path.name}: {one}" for one in found]

    assert not wrong


def test_no_template_switches_escaping_off() -> None:
    wrong = [
        path.name for path in TEMPLATES.rglob("*.html") if re.search(r"\|\s*safe\b|autoescape|Markup", path.read_text())
    ]

    assert not wrong


def test_nothing_names_another_host() -> None:
    ours = [*TEMPLATES.rglob("*.html"), *STATIC.glob("*.css"), *STATIC.glob("*.js")]
    wrong = [
        path.name
        for path in ours
        if re.search(r"""(src|href|url|action)\s*[=(]\s*["']?(https?:)?//""", path.read_text())
    ]

    assert not wrong


async def test_the_first_load_is_small(desk: Desk) -> None:
    page = await desk.get("/", Accept_Encoding="gzip")
    names = re.findall(r'/ADMIN/static/([^"?]+)\?', page.text)
    assets = Assets()

    total = len(page.text) + sum(len(asset.packed) for name in set(names) if (asset := assets.get(name)))

    assert total < FIRST_LOAD_BYTES_MAX


async def test_a_file_may_be_kept_for_ever_by_its_digest_only(desk: Desk) -> None:
    address = Assets().address("console.css")

    assert "immutable" in (await desk.get("/static/" + address)).headers["Cache-Control"]
    assert (await desk.get("/static/console.css")).headers["Cache-Control"] == "no-cache"
    assert (await desk.get("/static/console.css?old")).headers["Cache-Control"] == "no-cache"


def test_everything_below_static_has_a_known_type() -> None:
    unknown = [
        path
        for path in STATIC.rglob("*")
        if path.is_file() and Assets().get(path.relative_to(STATIC).as_posix()) is None
    ]

    assert [path.name for path in unknown] == ["SHA256SUMS"]
    assert Path(STATIC / "console.js").stat().st_size < 20_000
