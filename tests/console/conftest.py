from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cqs.identity import Role
from tests.console.desk import Desk, make_desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A console without passwords, with a folder for its change log."""
    made = await make_desk(folder=tmp_path)
    yield made
    await made.client.close()


@pytest.fixture
async def alice(desk: Desk) -> Desk:
    """An administrator's browser, logged in and at the first page."""
    await desk.add_user("alice", Role.ADMINISTRATOR)
    await desk.log_in("alice")
    await desk.get("/")
    return desk
