"""Temporary folders: what a killed process left is removed by the next one, and nobody else's."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cqs import scratch
from cqs.errors import CannotStart
from cqs.file_lock import lock
from cqs.scratch import Scratch

PREFIX = "cqs-test-"


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files, with a short path."""
    with TemporaryDirectory() as name:
        monkeypatch.setattr("tempfile.tempdir", name)
        yield Path(name)


def killed_owner() -> None:
    pid = os.fork()
    if not pid:
        (Scratch(PREFIX).path / "file").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)


def test_what_a_killed_process_left_is_removed_by_the_next(folder: Path) -> None:
    killed_owner()
    [left] = folder.iterdir()

    mine = Scratch(PREFIX)

    assert left != mine.path
    assert list(folder.iterdir()) == [mine.path]
    mine.remove()
    mine.remove()
    assert list(folder.iterdir()) == []


def test_folder_of_a_running_process_is_left_alone(folder: Path) -> None:
    first, second = Scratch(PREFIX), Scratch(PREFIX)

    assert sorted(folder.iterdir()) == sorted([first.path, second.path])
    first.remove()
    second.remove()


def test_link_and_folders_of_other_names_are_left_alone(folder: Path) -> None:
    others = [folder / "cqs-other", folder / f"{PREFIX}link", folder / f"{PREFIX}file"]
    others[0].mkdir()
    others[1].symlink_to(others[0])
    others[2].touch()

    mine = Scratch(PREFIX)

    assert sorted(folder.iterdir()) == sorted([*others, mine.path])
    mine.remove()


def test_folder_that_another_process_takes_for_a_leftover_is_given_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[int] = []

    def late(fd: int) -> bool:
        if not refused:
            refused.append(fd)
            return False
        return lock(fd)

    monkeypatch.setattr(scratch, "lock", late)
    mine = Scratch(PREFIX)

    assert len(refused) == 1
    assert mine.path.exists()
    mine.remove()


def test_path_that_is_too_long_for_a_socket_is_refused_and_not_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = folder / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))

    with pytest.raises(CannotStart, match="too long a path for Unix sockets; set TMPDIR"):
        Scratch(PREFIX)

    assert list(deep.iterdir()) == []
