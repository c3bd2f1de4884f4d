"""The first example of README.md runs, exactly as printed there, against a real server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.integration.process import ROOT, serving

_ENDPOINT = "http://127.0.0.1:9324"


def example() -> str:
    match = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert match is not None
    return match[1]


def test_example_prints_the_message_it_sent() -> None:
    with serving("--in-memory") as server:
        code = example().replace(_ENDPOINT, server.endpoint)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=150)

    assert (done.stdout, done.stderr, done.returncode) == ("two teas, please\n", "", 0)


def test_example_has_about_ten_lines() -> None:
    assert len(example().splitlines()) <= 11
    assert _ENDPOINT in example()


def test_commands_of_the_readme_are_targets_of_make() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"^make ([a-z-]+)", (ROOT / "README.md").read_text(), re.MULTILINE))

    assert {"run", "test"} <= named <= targets


def test_links_of_the_pages_lead_somewhere() -> None:
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")]
    for page in (*pages, *sorted((ROOT / "docs").glob("*.md"))):
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            assert "://" in link or Path(page.parent, link).exists(), f"{page.name}: {link}"
