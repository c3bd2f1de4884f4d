"""Which server writes into which journal."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from cqs import observers
from cqs.backends import folder_of
from cqs.config import load
from cqs.config.settings import Config, Journaling, Storage
from cqs.errors import ConfigError
from cqs.journal.rules import JournalRules
from cqs.testing.clock import ManualClock
from cqs.testing.journal import JournalHere


async def test_a_server_in_memory_leaves_the_journal_of_another_server_alone(tmp_path: Path) -> None:
    clock, rng = ManualClock(), random.Random(1)
    JournalHere(JournalRules(tmp_path / "journal", "api-1"), clock, rng).finish()
    before = os.listdir(tmp_path / "journal")

    here = load({"in_memory": True, "data_dir": str(tmp_path)}, {}).config
    await observers.begin(observers.journal_of(here, clock), here, clock, rng)

    assert os.listdir(tmp_path / "journal") == before


def test_a_server_in_memory_needs_a_directory_for_its_journal(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"journal: a server in memory .* give journal_dir"):
        observers.journal_of(load({"in_memory": True, "journal": "full"}, {}).config, ManualClock())

    told = load({"in_memory": True, "journal": "full", "journal_dir": str(tmp_path)}, {}).config
    assert observers.journal_of(told, ManualClock()) is not None


def test_a_folder_in_a_home_that_nobody_has_is_named() -> None:
    homeless = Config(storage=Storage(data_dir="~nobody-of-that-name/cqs"), journaling=Journaling(journal="full"))
    told = r"^data_dir: ~nobody-of-that-name/cqs: .*home.* Name another folder$"

    with pytest.raises(ConfigError, match=told):
        folder_of(homeless.storage)
    with pytest.raises(ConfigError, match=told):
        observers.journal_folder(homeless)
