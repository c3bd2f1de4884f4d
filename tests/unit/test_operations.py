"""docs/operations.md names commands, settings, metrics, files and targets that exist."""

from __future__ import annotations

import re
import shlex
import tomllib

import pytest
from click.testing import CliRunner

from cqs.cli import cli
from cqs.config.settings import settings
from cqs.metrics.declarations import ALL
from tests.unit.sources import ROOT

TEXT = (ROOT / "docs" / "operations.md").read_text()
NAMES = {setting.name for setting in settings()}
COMMANDS = sorted(set(re.findall(r"(?:^|`)(cqs [a-z][^`\n]*)", TEXT, re.MULTILINE)))


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_have_these_flags(command: str) -> None:
    words = shlex.split(command)[1:]
    names = [word for word in words[:2] if re.fullmatch(r"[a-z]+", word)]
    shown = CliRunner().invoke(cli, [*names, "--help"])

    assert shown.exit_code == 0, command
    assert [word for word in words if word.startswith("--") and word not in shown.output] == []


def test_settings_of_the_example_exist() -> None:
    for block in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL):
        assert tomllib.loads(block).keys() <= NAMES


def test_metrics_exist() -> None:
    named = set(re.findall(r"`(cqs_\w+)`", TEXT))

    assert named
    assert named <= {metric.name for metric in ALL}


def test_events_of_the_log_are_logged() -> None:
    table = TEXT.partition("## Read the log")[2].partition("\n## ")[0]
    named = {
        event for row in re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE) for event in re.findall(r"`(\w+)`", row)
    }
    code = "".join(path.read_text() for path in (ROOT / "cqs").rglob("*.py"))

    assert len(named) > 15
    assert [event for event in sorted(named) if f'"{event}"' not in code] == []


def test_linked_files_and_targets_exist() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in link]
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
    assert set(re.findall(r"`make ([a-z0-9-]+)`", TEXT)) <= targets
