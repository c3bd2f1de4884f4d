"""Compiled templates on disk: used again, never stale, and not needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import jinja2
import pytest
from jinja2 import Environment, FileSystemLoader

from admin.formats import FILTERS
from admin.kept_pages import KeptPages
from admin.rendering import TEMPLATES, Templates

PAGE = "hello.html"


class Pages:
    """An environment with one template, and how many templates it has compiled."""

    def __init__(self, folder: Path, of: bytes = b"") -> None:
        self.compiled = 0
        self._folder = folder
        kept = KeptPages(folder / "kept", of)
        self._environment = Environment(loader=FileSystemLoader(folder), bytecode_cache=kept, autoescape=True)
        compile_page = self._environment.compile

        def counted(*given: object, **named: object) -> object:
            self.compiled += 1
            return compile_page(*given, **named)  # type: ignore[call-overload]

        self._environment.compile = counted  # type: ignore[method-assign,assignment]

    def rendered(self) -> str:
        return self._environment.get_template(PAGE).render()

    @property
    def kept(self) -> list[Path]:
        return list((self._folder / "kept").iterdir())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / PAGE).write_text("hello")
    return tmp_path


def test_a_template_is_compiled_once(folder: Path) -> None:
    first, second = Pages(folder), Pages(folder)

    assert (first.rendered(), second.rendered()) == ("hello", "hello")

    assert (first.compiled, second.compiled) == (1, 0)
    assert [path.name for path in second.kept] == [f"{PAGE}.{sys.implementation.cache_tag}"]


def test_a_template_that_was_changed_is_compiled_again(folder: Path) -> None:
    Pages(folder).rendered()
    times = (folder / PAGE).stat()
    (folder / PAGE).write_text("HELLO")
    os.utime(folder / PAGE, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert Pages(folder).rendered() == "HELLO"


@pytest.mark.parametrize("change", ["rendering", "jinja"])
def test_what_was_compiled_by_others_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    Pages(folder).rendered()
    if change == "jinja":
        monkeypatch.setattr(jinja2, "__version__", "99.0")
    other = Pages(folder, of=b"other options" if change == "rendering" else b"")

    assert (other.rendered(), other.compiled) == ("hello", 1)


@pytest.mark.parametrize("spoil", [lambda code: b"", lambda code: code[:40], lambda code: code[:32] + b"N"])
def test_a_broken_file_is_written_anew(folder: Path, spoil: Callable[[bytes], bytes]) -> None:
    pages = Pages(folder)
    pages.rendered()
    [file] = pages.kept
    whole = file.read_bytes()
    file.write_bytes(spoil(whole))

    assert Pages(folder).rendered() == "hello"

    assert file.read_bytes() == whole


def test_without_a_folder_to_write_pages_are_compiled_each_time(folder: Path) -> None:
    (folder / "kept").write_text("a file stands where the folder would be")

    pages = [Pages(folder), Pages(folder)]

    assert [(one.rendered(), one.compiled) for one in pages] == [("hello", 1)] * 2


def test_nothing_is_written_if_python_writes_no_bytecode(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    assert Pages(folder).rendered() == "hello"

    assert not (folder / "kept").exists()


def test_each_page_of_the_console_is_kept(folder: Path) -> None:
    Templates(folder / "kept").warm()

    kept = {path.name.removesuffix(f".{sys.implementation.cache_tag}") for path in (folder / "kept").iterdir()}
    assert kept == {str(path.relative_to(TEMPLATES)).replace("/", ".") for path in TEMPLATES.rglob("*.html")}


def test_no_filter_runs_while_a_template_is_compiled() -> None:
    """Its result would be kept, and survive a change of the filter."""
    ran: list[str] = []
    environment = Templates()._environment
    for name in FILTERS:
        environment.filters[name] = lambda *given, name=name: ran.append(name)

    for name in environment.list_templates(extensions=["html"]):
        environment.compile((TEMPLATES / name).read_text(), name)

    assert ran == []
