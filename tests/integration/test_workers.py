"""`cqs serve --workers N`: real processes on one port, with a Redis started by the parent and a real Cassandra."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cqs.events import EventName
from cqs.journal.files import files_of
from cqs.store.cassandra import schema
from tests import cassandra_server
from tests.integration.certificates import connected, make_certificate, serial_of, tls_flags
from tests.integration.process import ROOT, START_S_MAX, Served, refused, serving, until
from tests.needs import needs
from tests.processes import children_of, name_of, runs
from tests.unit.journal_bench import lines_of

WORKERS = 3
SENDS_MAX = 6_000
"""Which worker accepts a connection is a race; in so many, each wins one."""
FOLDERS = Path(tempfile.gettempdir())

cluster = [needs("java", "mvn", "redis-server"), pytest.mark.slow]


@pytest.mark.parametrize("flags", [(), ("--in-memory",), ("--redis", "spawn"), ("--cassandra", "127.0.0.1")])
def test_workers_must_share_their_data(flags: tuple[str, ...], tmp_path: Path) -> None:
    code, error = refused("--workers", "2", "--port", "0", "--data-dir", str(tmp_path), *flags)

    assert (code, error.count("\n")) == (2, 1)
    assert error.startswith("cqs: workers: 2 need shared Redis and Cassandra servers")


@pytest.fixture(scope="module")
def flags(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    for ring in cassandra_server.session():
        options = cassandra_server.options_of(ring)
        asyncio.run(schema.apply(options, {}))
        yield ["--workers", str(WORKERS), "--redis", "spawn", "--data-dir", str(tmp_path_factory.mktemp("node")),
               "--cassandra", options.hosts[0], "--cassandra-port", str(options.port)]  # fmt: skip


def named_children_of(server: Served) -> dict[int, str]:
    """Returns pids and names of the parent's children."""
    return {one: name for one in children_of(server.process.pid) if (name := name_of(one))}


def workers_of(server: Served) -> set[int]:
    return {pid for pid, name in named_children_of(server).items() if "redis" not in name}


def page_of_all(server: Served) -> str:
    """Returns the metrics page once it tells of all workers: one that has just started, or is slow, may be missing."""
    pages = iter(lambda: server.get("/metrics")[1], "")
    return next(page for page in pages if len(set(re.findall(r'cqs_connections\{worker="(\d)"\}', page))) == WORKERS)


def senders(server: Served) -> set[str]:
    """Returns the workers through which messages were sent."""
    lines = server.get("/metrics")[1].splitlines()
    sent = [line for line in lines if line.startswith("cqs_messages_sent_total{") and not line.endswith(" 0.0")]
    return {found[1] for line in sent if (found := re.search(r'worker="(\d)"', line))}


def drained(server: Served, *flags: str) -> dict[str, object]:
    """Runs `cqs drain` and returns its output. A worker that does not answer in time is left out: run it again."""
    command = [sys.executable, "-m", "cqs", "drain", "--endpoint", server.endpoint, "-o", "json", *flags]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))


@pytest.fixture(scope="module")
def server(flags: list[str]) -> Iterator[Served]:
    with serving(*flags) as running:
        yield running


class Load:
    """Sends requests in the background, one after another, each on a new connection. Keeps the errors."""

    def __init__(self, server: Served) -> None:
        self._place = urlsplit(server.endpoint)
        self._is_over = False
        self.done = 0
        self.failures: list[str] = []
        self._threads = [threading.Thread(target=self._run) for _ in range(4)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while not self._is_over:
            connection = http.client.HTTPConnection(str(self._place.hostname), self._place.port or 0, timeout=60)
            try:
                connection.request("POST", "/", b"{}", {"Content-Type": "application/x-amz-json-1.0",
                                                        "X-Amz-Target": "AmazonSQS.ListQueues"})  # fmt: skip
                status = connection.getresponse().status
                if status != 200:
                    self.failures.append(str(status))
                self.done += 1
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
            finally:
                connection.close()


class TestWorkers:
    """The order matters: the later tests replace workers."""

    pytestmark = cluster

    def test_they_serve_on_one_port_with_one_redis(self, server: Served) -> None:
        names = list(named_children_of(server).values())

        assert server.lines[-1]["workers"] == WORKERS
        assert len(workers_of(server)) == WORKERS
        assert sum("redis" in name for name in names) == 1

    def test_a_scrape_tells_of_all_of_them_in_one_page(self, server: Served) -> None:
        with Load(server) as load:
            until(lambda: load.done > 50)
        page = page_of_all(server)
        requests = re.findall(r'cqs_requests_total\{worker="\d",action="ListQueues",[^}]*\} (\d+)', page)

        assert load.failures == []
        assert sum(map(int, requests)) == load.done
        assert len(re.findall(r'process_resident_memory_bytes\{worker="\d"\}', page)) == WORKERS
        families = re.findall(r"# TYPE (\S+)", page)
        assert len(families) == len(set(families))

    def test_the_node_drains_with_all_its_workers(self, server: Served) -> None:
        whole = {"AnsweredReceives": 0, "Workers": WORKERS}
        until(lambda: drained(server) == {"Draining": True} | whole)
        assert {server.get("/ready")[0] for _ in range(30)} == {503}
        until(lambda: drained(server, "--undo")["Workers"] == WORKERS)
        assert {server.get("/ready")[0] for _ in range(30)} == {200}

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
    def test_one_that_ends_is_replaced(self, server: Served, number: int) -> None:
        before = workers_of(server)
        (one, *others) = before
        with Load(server) as load:
            os.kill(one, number)
            until(lambda: len(workers_of(server) - before) == 1)
            page_of_all(server)

        assert workers_of(server) >= set(others)
        assert number == signal.SIGKILL or load.failures == []
        assert load.done > 0

    def test_all_end_with_the_parent_in_order(self, server: Served) -> None:
        children = named_children_of(server)
        code, rest = server.stop()

        assert (code, "Traceback" in rest) == (0, False), rest
        ended = [line for line in rest.splitlines() if '"event":"stopped"' in line]
        assert len([line for line in ended if '"worker"' not in line]) == 1
        assert len({line.partition('"worker"')[2] for line in ended}) == WORKERS + 1
        assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]


class TestOthers:
    pytestmark = cluster

    @pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN], ids=["", "nohup"])
    def test_sighup_reaches_every_worker(self, flags: list[str], tmp_path: Path, before: signal.Handlers) -> None:
        make_certificate(tmp_path)
        signal.signal(signal.SIGHUP, before)
        with serving(*flags, *tls_flags(tmp_path)) as server:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            port = urlsplit(server.endpoint).port or 0
            serial = make_certificate(tmp_path)
            server.process.send_signal(signal.SIGHUP)
            until(lambda: all(shown(port) == serial for _ in range(30)))
            for worker in workers_of(server):
                os.kill(worker, signal.SIGKILL)
            until(lambda: shown(port) == serial, within_s=START_S_MAX)

            assert server.stop()[0] == 0

    def test_each_keeps_a_journal_and_an_audit_reads_them_all(self, flags: list[str], tmp_path: Path) -> None:
        folder, sent = tmp_path / "journal", 0
        journaling = ["--journal", "full", "--journal-dir", str(folder), "--journal-node", "api-1"]
        with serving(*flags, *journaling) as server:
            url = server.call("CreateQueue", QueueName="told")["QueueUrl"]
            page_of_all(server)
            while sent < SENDS_MAX and len(senders(server)) < WORKERS:
                for _ in range(60):
                    server.call("SendMessage", QueueUrl=url, MessageBody="x")
                sent += 60
            server.consume(url, sent)
            assert server.stop()[0] == 0

        lines = [lines_of(file.path) for file in files_of(folder)]
        assert sorted(one[0].node for one in lines) == [f"api-1-{number}" for number in range(1, WORKERS + 1)]
        assert len({one[0].incarnation for one in lines}) == WORKERS
        for own in lines:
            assert {(line.node, line.incarnation) for line in own} == {(own[0].node, own[0].incarnation)}
            assert [line.number for line in own] == list(range(1, len(own) + 1))
            assert own[-1].event is EventName.CLOSED
            assert own[-1].is_last
            assert own[-1].counts["sent"] > 0
        command = [sys.executable, "-m", "spark_jobs", str(folder), "--drained", "--output", str(tmp_path / "audit")]
        audited = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        assert audited.returncode == 0, audited.stderr[-2_000:]
        assert audited.stdout.startswith(f"verdict: acknowledged {sent} lost 0 ")

    def test_what_keeps_a_worker_from_starting_is_told_once(self, flags: list[str]) -> None:
        code, error = refused("--port", "0", *flags, "--cassandra-keyspace", "nowhere")

        assert (code, error.count("\n")) == (1, 1)
        assert "has no schema in keyspace nowhere" in error

    def test_workers_end_with_a_killed_parent_and_leave_nothing(self, flags: list[str]) -> None:
        before = set(FOLDERS.glob("cqs-siblings-*"))
        with serving(*flags) as server:
            children = named_children_of(server)
            server.process.kill()
            until(lambda: not [pid for pid in children if runs(pid)])
        assert set(FOLDERS.glob("cqs-siblings-*")) - before == set()


def shown(port: int) -> int:
    try:
        with connected(port) as connection:
            return serial_of(connection)
    except (ssl.SSLError, ConnectionError, TimeoutError):
        return 0
