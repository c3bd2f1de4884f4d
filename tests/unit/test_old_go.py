"""A Go that is too old for AWS's SDK downloads a newer Go as a module."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sdk import toolchains

MODULES = {
    "go1.19.8": "golang.org/toolchain@v0.0.1-go1.24.0.linux-amd64",
    "go1.24": None,
    "go1.26.8": None,
}


@pytest.mark.parametrize("version", MODULES)
def test_old_go_fetches_a_newer_one(version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler, tool = tmp_path / "bin" / "go", tmp_path / "pkg" / "tool" / "linux_amd64" / "link"
    for program in (compiler, tool):
        program.parent.mkdir(parents=True)
        program.touch(0o444)
    fetched: list[str] = []

    def run(command: list[str], folder: Path) -> str:
        if command[:2] == ["go", "env"]:
            return f"{version}\nlinux\namd64\n"
        fetched.append(command[-1])
        return json.dumps({"Dir": str(tmp_path)})

    monkeypatch.setattr(toolchains, "run", run)
    module = MODULES[version]

    assert toolchains.go_command.__wrapped__() == (str(compiler) if module else "go")
    assert fetched == ([module] if module else [])
    assert [program.stat().st_mode & 0o111 for program in (compiler, tool)] == [0o111 if module else 0] * 2
