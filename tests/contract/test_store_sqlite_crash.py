"""A process that writes to the SQLite store is repeatedly killed with SIGKILL at random times, on the same data:
acknowledged messages survive, deleted ones do not reappear."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from cqs.clock import SystemClock
from cqs.ids import key_of
from cqs.store.interface import Wanted
from cqs.store.sqlite.schema import FILE_NAME
from cqs.store.sqlite.store import SqliteStore
from tests.contract import store_crash_child as child
from tests.contract.store_home import scanned

ROOT = Path(__file__).parents[2]
ROUNDS = 4
LINES_MIN, LINES_MAX, LATER_S_MAX = 100, 3_000, 0.02


class Ledger:
    """What the child processes printed, over all rounds."""

    def __init__(self) -> None:
        self.asked: dict[str, set[int]] = {kind: set() for kind in "adf"}
        self.answered: dict[str, set[int]] = {kind: set() for kind in "ADFL"}
        self.dedup_ids: dict[int, str] = {}

    def note(self, line: str) -> None:
        kind, address, *dedup_id = line.split()
        (self.answered if kind.isupper() else self.asked)[kind].add(int(address))
        if dedup_id:
            self.dedup_ids[int(address)] = dedup_id[0]


def run_and_kill(folder: Path, seed: int, ledger: Ledger, writer: str) -> int:
    """Lets a child write for a while, kills it, and returns how many calls were acknowledged. The while is counted in
    lines, so that a slow machine writes as much as a fast one."""
    rng = random.Random(seed)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.contract.store_crash_child", str(folder), str(seed), writer],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        lines = [process.stdout.readline() for _ in range(rng.randrange(LINES_MIN, LINES_MAX))]
        killer = threading.Timer(rng.uniform(0, LATER_S_MAX), process.kill)
        killer.start()
        lines = ("".join(lines) + process.stdout.read()).split("\n")
        killer.join()
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
    for line in lines[:-1]:
        ledger.note(line)
    return sum(line[0].isupper() for line in lines[:-1])


async def account(folder: Path, ledger: Ledger) -> dict[str, int]:
    """Compares the store with the ledger. Returns counts of violations, which must all be 0."""
    store = SqliteStore(folder, SystemClock())
    await store.open()
    jobs, fifo = child.queues()
    stored = {one.address: one for one in await scanned(store, jobs)}
    stored_fifo = {one.address for one in await scanned(store, fifo)}
    messages = await store.read(jobs, list(stored)) + await store.read(fifo, list(stored_fifo))
    repeats = [
        await store.claim(fifo, [Wanted("", ledger.dedup_ids[address], 1)], child.WINDOW_MS)
        for address in ledger.answered["F"]
    ]
    await store.close()
    return {
        "lost": len(ledger.answered["A"] - ledger.asked["d"] - stored.keys()) + len(ledger.answered["F"] - stored_fifo),
        "resurrected": len(ledger.answered["D"] & stored.keys()),
        "unheard of": len(stored.keys() - ledger.asked["a"]) + len(stored_fifo - ledger.asked["f"]),
        "unreadable": len(stored) + len(stored_fifo) - len(messages),
        "changed": sum(message.body != child.body_of(message.address) for message in messages),
        "leases lost": sum(stored[at].lease is None for at in ledger.answered["L"] & stored.keys()),
        "windows lost": sum(
            claim.is_new or claim.address != address
            for address, (claim,) in zip(ledger.answered["F"], repeats, strict=True)
        ),
    }


@pytest.mark.parametrize("writer", ["thread", "process"])
def test_a_killed_store_loses_and_resurrects_nothing(tmp_path: Path, writer: str) -> None:
    first_seed = random.SystemRandom().getrandbits(32)
    folder, ledger = tmp_path / "data", Ledger()

    for seed in range(first_seed, first_seed + ROUNDS):
        acknowledged = run_and_kill(folder, seed, ledger, writer)
        wrong = asyncio.run(account(folder, ledger))
        print(f"seed {seed}: {acknowledged} acknowledged, {wrong}")

        assert set(wrong.values()) == {0}, f"seed {seed}: {wrong}"
    assert len(ledger.answered["A"]) > 50
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_accounting_notices_what_is_lost_and_what_came_back(tmp_path: Path) -> None:
    folder, ledger = tmp_path / "data", Ledger()
    run_and_kill(folder, 1, ledger, "thread")
    alive = sorted(ledger.answered["A"] - ledger.asked["d"])
    ledger.answered["D"].add(alive[0])
    with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as connection:
        connection.execute("DELETE FROM messages WHERE id = ?", (key_of(alive[1]),))
        connection.execute("UPDATE messages SET body = 'flipped' WHERE id = ?", (key_of(alive[2]),))
        connection.execute("DELETE FROM claims")

    wrong = asyncio.run(account(folder, ledger))

    assert (wrong["lost"], wrong["resurrected"], wrong["unreadable"]) == (1, 1, 1)
    assert wrong["windows lost"] == len(ledger.answered["F"])
