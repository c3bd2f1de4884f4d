"""Code rules as tests: sizes, docstrings, no leftovers, no sleeps to test time rules.

Code that exceeds a limit is listed in tests/tidy_ratchet.toml with its size, and may only shrink: an entry that is
larger than the code, or no longer needed, also fails.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator

from cqs import __version__
from tests.unit.sources import ROOT, Source, sources

FILE_LINES_MAX = 250
FUNCTION_LINES_MAX = 40
SELF_EXPLAINED_LINES_MAX = 6

CODE = sources("cqs", "admin", "spark_jobs")
TESTS = sources("tests", "benchmarks", "deploy")
_LEFTOVER = re.compile(r"#.*\b(TODO|FIXME|XXX|HACK)\b|\b(breakpoint|pdb\.set_trace)\(")
_SLEEPERS = (
    "tests/sdk/",
    "tests/integration/",
    "tests/crash/",
    "tests/drills/",
    "tests/console/",
    "benchmarks/",
    "deploy/",
)
"""Tests of real processes, which may wait for them."""

_AWS_NAMES = "cqs/api/shapes/"
"""Shapes have AWS's names."""


def ratchet(section: str) -> dict[str, int]:
    return dict(tomllib.loads((ROOT / "tests" / "tidy_ratchet.toml").read_text()).get(section, {}))


def functions(source: Source) -> Iterator[tuple[str, int]]:
    """Name and length of every function, without its decorators and docstring."""
    for node in source.statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            body = node.body[1:] if ast.get_docstring(node) is not None and len(node.body) > 1 else node.body
            yield f"{source.path}::{node.name}", node.end_lineno - body[0].lineno + 2


def held(sizes: dict[str, int], allowed: dict[str, int], size_max: int) -> list[str]:
    """Returns what violates the limit or its ratchet."""
    too_large = [f"{name}: {size} lines" for name, size in sizes.items() if size > allowed.get(name, size_max)]
    loose = [
        f"{name}: tighten the ratchet to {sizes.get(name, 0)}, or drop the entry at {size_max} or less"
        for name, size in allowed.items()
        if sizes.get(name, 0) < size
    ]
    return too_large + loose


def test_files_are_short() -> None:
    sizes = {source.path: source.text.count("\n") for source in CODE + TESTS}

    wrong = held(sizes, ratchet("files"), FILE_LINES_MAX)

    assert not wrong, "\n".join(wrong)


def test_functions_are_short() -> None:
    sizes: dict[str, int] = {}
    for source in CODE + TESTS:
        for name, size in functions(source):
            sizes[name] = max(size, sizes.get(name, 0))

    wrong = held(sizes, ratchet("functions"), FUNCTION_LINES_MAX)

    assert not wrong, "\n".join(wrong)


def test_nothing_is_left_over() -> None:
    wrong = [
        f"{source.path}:{number}: {line.strip()}"
        for source in CODE + TESTS
        for number, line in enumerate(source.text.splitlines(), 1)
        if _LEFTOVER.search(line) and source.path != "tests/unit/test_tidy.py"
    ]

    assert not wrong, "\n".join(wrong)


def test_code_logs_and_does_not_print() -> None:
    wrong = [f"{source.path}:{line}" for source in CODE for name, line in source.calls("print") if name == "print"]

    assert not wrong, "\n".join(wrong)


def test_tests_of_time_rules_do_not_sleep() -> None:
    wrong = [
        f"{source.path}:{line}: {name}"
        for source in TESTS
        if not source.path.startswith(_SLEEPERS)
        for name, line in source.calls("sleep")
        if name == "time.sleep" or (name == "asyncio.sleep" and not is_yield(source, line))
    ]

    assert not wrong, "\n".join(wrong)


def is_yield(source: Source, line: int) -> bool:
    """`asyncio.sleep(0)` only yields to other tasks."""
    return "asyncio.sleep(0)" in source.text.splitlines()[line - 1]


def test_every_module_says_what_it_owns() -> None:
    wrong = [
        source.path
        for source in CODE + TESTS
        if not source.text.startswith('"""') and source.text.strip() and not source.path.endswith("conftest.py")
        if not ast.get_docstring(source.tree)
    ]

    assert not wrong, "\n".join(wrong)


def test_public_classes_and_functions_say_what_they_promise() -> None:
    wrong = [
        f"{source.path}:{node.lineno}: {node.name}"
        for source in CODE
        if not source.path.startswith(_AWS_NAMES)
        for node in source.tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if not node.name.startswith("_") and ast.get_docstring(node) is None and not explains_itself(node)
    ]

    assert not wrong, "\n".join(wrong)


def explains_itself(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is so short that a docstring would only repeat it."""
    assert node.end_lineno is not None
    return node.end_lineno - node.body[0].lineno < SELF_EXPLAINED_LINES_MAX


def test_commands_of_modules_say_in_their_help_how_they_are_called() -> None:
    wrong = [
        f"{source.path}:{node.lineno}"
        for source in CODE + TESTS
        if "ArgumentParser" in source.text
        for node in source.nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("ArgumentParser")
        if "prog" not in [keyword.arg for keyword in node.keywords]
    ]

    assert not wrong, "\n".join(wrong)


def test_change_log_tells_of_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()

    assert f"## [{__version__}]" in text or (__version__ == "0.1.0" and "## [Unreleased]" in text)


def test_nothing_committed_names_what_only_this_workshop_has() -> None:
    names = [path for path in ("README.md", "CONTRIBUTING.md", "Makefile", "CHANGELOG.md") if "../shared" in read(path)]
    wrong = names + [
        source.path for source in CODE + TESTS if "../shared/" in source.text and "test_tidy" not in source.path
    ]

    assert not wrong, "\n".join(wrong)


def read(path: str) -> str:
    return (ROOT / path).read_text()
