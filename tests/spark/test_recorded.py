"""How a task sends recorded messages, to a fake server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from threading import Lock
from types import SimpleNamespace

import pytest

from spark_jobs import players, recorded
from spark_jobs.client import CallFailed
from spark_jobs.errors import EndpointFailed
from spark_jobs.recorded import Row

URLS = {"1/q.fifo": ("run-0.fifo", "fifo"), "1/q": ("run-1", "standard")}
FIFO = Row("1/q.fifo", True, "g", 100, 0, 0)
STANDARD = Row("1/q", False, "", 100, 7_000, 0)


class Server:
    """Records what is sent, by queue."""

    def __init__(self) -> None:
        self.indexes: dict[str, list[int]] = defaultdict(list)
        self.delays_s: set[int] = set()
        self.refuses_at = -1
        self._lock = Lock()

    def send(self, url: str, body: str, content: object, group: str, dedup_id: str, delay_s: int) -> str:
        index = int(body.split()[2])
        with self._lock:
            self.indexes[url].append(index)
            self.delays_s |= {delay_s} if url == "standard" else set()
        if index == self.refuses_at:
            raise CallFailed("400 no such queue")
        return "m"

    def close(self) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(players, "Client", lambda *_: server)
    monkeypatch.setattr(players, "RETRY_S", 0.0)
    return server


def sent(rows: Iterator[Row], speed: float = 0.0) -> int:
    """Returns how many sends arrived."""
    return sum(len(batch) for batch in recorded._sent(rows, URLS, ["http://127.0.0.1:1"], "run", 0.0, speed))


def test_group_is_sent_in_its_order_and_everything_once(server: Server) -> None:
    assert sent(FIFO if number % 2 else STANDARD for number in range(400)) == 400

    assert server.indexes["fifo"] == list(range(1, 400, 2))
    assert sorted(server.indexes["standard"]) == list(range(0, 400, 2))


@pytest.mark.parametrize(("speed", "delay_s"), [(0.0, 0), (1.0, 7), (2.0, 4)])
def test_delay_goes_with_the_speed(server: Server, speed: float, delay_s: int) -> None:
    sent(iter([STANDARD, FIFO]), speed)

    assert server.delays_s == {delay_s}


def test_rows_that_can_not_be_read_end_the_task(server: Server) -> None:
    def rows() -> Iterator[Row]:
        yield FIFO
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        sent(rows())


def test_pause_without_end_ends_the_task(server: Server) -> None:
    with pytest.raises(OverflowError):
        sent(iter([Row("1/q", False, "", 100, 0, 1 << 62)]), 1.0)


def test_queue_that_refuses_ends_the_task(server: Server) -> None:
    server.refuses_at = 3

    with pytest.raises(EndpointFailed, match="refused a send 50 times: 400 no such queue"):
        sent(FIFO for _ in range(20))


def test_sends_are_due_as_they_were_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, slept_s = 100.0, list[float]()
    monkeypatch.setattr(recorded, "time", SimpleNamespace(time=lambda: now_s, sleep=slept_s.append))
    rows = [Row("orders", False, "", 10, 0, offset_ms) for offset_ms in (0, 500, 2_000)]

    for speed in (2, 1, 0):
        assert list(recorded._paced(iter(rows), now_s + 3, speed)) == list(enumerate(rows))

    assert slept_s == [3, 3.25, 4, 3, 3.5, 5, 3, 3, 3]
