"""Watches the memory of the API processes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.drills.history import History

GROWN = "MB more memory in an API process"
GROWN_MAX = 50
_LOOK_S = 0.1
_RESIDENT = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)


@asynccontextmanager
async def watched(history: History, pids: Sequence[int]) -> AsyncIterator[None]:
    """Counts under GROWN by how many MB the resident memory of one of these processes grew meanwhile, at most. They
    must run all the time."""
    before = dict(zip(pids, map(resident_bytes, pids), strict=True))
    history.told.setdefault(GROWN, 0)

    def look() -> None:
        grown = max(resident_bytes(pid) - before[pid] for pid in pids)
        history.told[GROWN] = max(history.told[GROWN], grown // 1_000_000)

    async def keep_looking() -> None:
        while True:
            look()
            await asyncio.sleep(_LOOK_S)

    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(keep_looking())
        yield
        looking.cancel()
    look()


def resident_bytes(pid: int) -> int:
    """The process must run."""
    found = _RESIDENT.search(Path(f"/proc/{pid}/status").read_text())
    assert found is not None, f"process {pid} has ended"
    return int(found[1]) * 1024
