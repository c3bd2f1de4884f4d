"""How a reader knows up to which time the journal of a running server is complete."""

from __future__ import annotations

from pathlib import Path

from cqs.journal.journal import BEAT_MS
from tests.unit.journal_bench import QUEUE, JournalBench


def test_idle_server_says_now_and_then_that_all_before_is_written(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path)
    bench.send("before")
    bench.journal.received_nothing(QUEUE)
    bench.journal.beat()
    for _ in range(3):
        bench.clock.advance_ms(BEAT_MS // 2)
        bench.journal.beat()
    bench.clock.advance_ms(-BEAT_MS)
    bench.journal.beat()
    bench.flush()

    assert bench.names() == ["opened", "sent", "received_nothing", "alive", "alive"]
    alive = bench.lines()[3]
    assert (alive.number, alive.at_ms, alive.queue) == (4, bench.lines()[0].at_ms + BEAT_MS, "")


def test_what_is_missing_is_told_before_anything_that_came_later(tmp_path: Path) -> None:
    """A concurrent reader never sees a line after an unreported gap."""
    bench = JournalBench(tmp_path)
    bench.journal.buffer.miss(7)
    bench.send("later")
    bench.flush()

    assert bench.names() == ["opened", "dropped_events", "sent"]
