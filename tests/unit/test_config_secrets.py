"""Secrets among the settings: they may be in a file of their own, and are shown by nothing."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cqs.cli import main
from cqs.config import load, report, values
from cqs.config.load import load_schema
from cqs.config.values import MASK
from cqs.errors import ConfigError


@dataclass(frozen=True)
class Door:
    """The door"""

    key: str = field(default="", metadata={"kind": values.text(is_secret=True), "help": "Opens the door."})


@dataclass(frozen=True)
class House:
    """A schema with a secret."""

    door: Door = field(default_factory=Door)


def test_secret_may_come_from_a_file_and_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sesame\n")

    loaded = load_schema(House, {}, {"CQS_KEY_FILE": str(tmp_path / "key")})

    assert loaded.config.door.key == "sesame"
    assert loaded.origins["key"] == f"environment CQS_KEY_FILE={tmp_path / 'key'}"
    assert "sesame" not in report.as_text(loaded) + report.as_json(loaded)
    assert MASK in report.as_text(loaded)


def test_secret_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"^key: file {tmp_path / 'none'} .*can't be read"):
        load_schema(House, {"key_file": str(tmp_path / "none")}, {})


def test_secret_that_one_source_gives_as_itself_and_as_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("of the file")
    both = {"key": "itself", "key_file": str(tmp_path / "key")}
    file = tmp_path / "cqs.toml"
    file.write_text(f'key = "itself"\nkey_file = "{tmp_path / "key"}"')

    for flags, environ, path in (
        (both, {}, None),
        ({}, {f"CQS_{name.upper()}": value for name, value in both.items()}, None),
        ({}, {}, str(file)),
    ):
        with pytest.raises(ConfigError, match=r"^key: given twice \(.*key.*\); write it once$") as refused:
            load_schema(House, flags, environ, path)
        assert "itself" not in str(refused.value)

    assert load_schema(House, {"key": "a flag"}, {"CQS_KEY_FILE": str(tmp_path / "key")}).config.door.key == "a flag"


def test_only_secrets_have_file_variables() -> None:
    with pytest.raises(ConfigError, match="CQS_REGION_FILE: no such setting"):
        load({}, {"CQS_REGION_FILE": "/etc/hostname"})


def test_each_secret_has_a_flag_for_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "redis").write_text("redis://:sesame@one:1,redis://two:2\n")
    monkeypatch.setattr(sys, "argv", ["cqs", "config", "--redis-file", str(tmp_path / "redis")])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 0
    assert f"redis://{MASK}@one:1,redis://two:2" in capsys.readouterr().out
