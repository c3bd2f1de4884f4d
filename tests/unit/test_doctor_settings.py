"""`cqs doctor` reports what `cqs serve` would reject at its start, and changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cqs.clock import SystemClock
from cqs.config import load
from cqs.doctor.examine import examine
from cqs.doctor.finding import Finding, Level
from cqs.store.sqlite.schema import FILE_NAME


async def errors_of(flags: dict[str, object], file: Path | None = None) -> list[Finding]:
    found = await examine(load({"port": 0, **flags}, {}, None if file is None else str(file)), SystemClock())
    return [one for one in found if one.level is Level.ERROR]


async def errors_of_queues(folder: Path, text: str) -> list[str]:
    file = folder / "cqs.toml"
    file.write_text(text)
    return [one.text for one in await errors_of({"in_memory": True}, file)]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"host": "0.0.0.0"}, "host: 0.0.0.0 "),
        ({"auth": "signed", "workers": 2}, "workers: 2 "),
        ({"cassandra": ["127.0.0.1"]}, "in_memory: "),
        ({"users_file": "/nowhere"}, "users_file: /nowhere "),
        ({"journal": "full"}, "journal: a server in memory "),
    ],
)
async def test_settings_that_a_server_refuses_are_errors(flags: dict[str, object], told: str) -> None:
    (found,) = await errors_of({"in_memory": True, **flags})

    assert (found.part, found.text.startswith(told)) == ("settings", True)


async def test_users_that_can_not_be_made_are_an_error(tmp_path: Path) -> None:
    file = tmp_path / "users.toml"
    file.write_text('[[user]]\nname = "a"\n[[user]]\nname = "a"\n')
    file.chmod(0o600)

    (found,) = await errors_of({"data_dir": str(tmp_path), "users_file": str(file)})

    assert "it is declared twice" in found.text
    assert os.listdir(tmp_path) == ["users.toml"]


async def test_declared_queues_that_can_not_be_made_are_an_error(tmp_path: Path) -> None:
    (told,) = await errors_of_queues(
        tmp_path, '[[queue]]\nname = "a"\nattributes = { VisibilityTimeout = 99999 }\ndead_letter = "elsewhere"'
    )

    assert told.startswith("queue 'a': ")
    assert "VisibilityTimeout" in told


async def test_dead_letter_queues_that_are_not_declared_may_be_in_the_store(tmp_path: Path) -> None:
    old = "arn:aws:sqs:us-east-1:000000000000:old"
    policy = f'{{ RedrivePolicy = \'{{"deadLetterTargetArn": "{old}", "maxReceiveCount": 3}}\' }}'
    text = f'[[queue]]\nname = "a"\ndead_letter = "new"\n[[queue]]\nname = "b"\nattributes = {policy}\n'

    assert await errors_of_queues(tmp_path, text) == []
    assert await errors_of_queues(tmp_path, '[[queue]]\nname = "a.fifo"\ndead_letter = "dead.fifo"') == []


@pytest.mark.parametrize("setting", ["data_dir", "journal_dir"])
async def test_a_folder_that_is_a_link_to_nothing_is_an_error(tmp_path: Path, setting: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "gone")
    folders = {"data_dir": str(tmp_path / "data"), "journal_dir": str(tmp_path / "journal")}

    (found,) = await errors_of({"journal": "full", **folders, setting: str(link)})

    assert (found.text, setting in found.to_do) == (f"{link} is a dangling link", True)


@pytest.mark.parametrize("name", ["", "lock", FILE_NAME, "master.key"])
async def test_files_of_another_user_are_an_error(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).touch()
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path / name and real(path, mode))

    (found,) = await errors_of({"data_dir": str(tmp_path)})

    assert found.text.endswith("can't be used by this user")
    assert found.to_do.startswith("chown it")


async def test_a_folder_in_one_that_may_not_be_entered_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", refused)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)

    (found,) = await errors_of({"data_dir": str(tmp_path / "in" / "there")})

    assert found.text == f"{tmp_path} can't be used by this user"
