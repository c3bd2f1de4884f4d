"""`cqs stats`: the activity of a node, and the contents and data centre of a queue."""

from __future__ import annotations

import pytest

from cqs.store.report import StoreHost, StoreReport
from tests.datacenters import unserved
from tests.protocol.measured import Measured
from tests.protocol.world import make_world
from tests.unit.test_commands import Shell, shell

__all__ = ["shell"]


async def test_statistics_of_node_and_queue(shell: Shell) -> None:
    await shell.text("send", "orders", "x")
    await shell.node.sample()

    node, queue = await shell.text("stats"), await shell.json("stats", "orders")

    assert "2 queues" in node
    assert ["SendMessage", "1", "0"] in [line.split()[:3] for line in node.splitlines()]
    assert (queue["Totals"]["Sent"], queue["Totals"]["Visible"]) == (1, 1)


async def test_statistics_name_the_data_centre_that_serves_a_queue() -> None:
    _, a, _, _ = await unserved()
    world = await make_world(bench=a)
    async with world.listening() as door:
        shell = Shell(Measured(world, door))
        nobodys = await shell.text("stats", "orders")
        await shell.text("send", "orders", "x")
        served, node = await shell.text("stats", "orders"), await shell.text("stats")

    assert ["home", "data", "centre", "none", "yet"] in [line.split() for line in nobodys.splitlines()]
    assert ["home", "data", "centre", "dc1"] in [line.split() for line in served.splitlines()]
    assert ["this", "node's", "data", "centre", "dc1"] in [line.split() for line in node.splitlines()]
    assert "home data centre" not in node


async def test_statistics_of_a_node_tell_the_hosts_of_cassandra(shell: Shell) -> None:
    known = [("10.0.0.1", "dc1", True), ("10.0.1.1", "dc2", False), ("10.0.1.2", "dc2", None)]
    hosts = tuple(StoreHost(address=address, datacenter=where, is_up=is_up) for address, where, is_up in known)
    shell.node.bench.engine.metrics.store_report = lambda: StoreReport(hosts=hosts)

    lines = [line.split() for line in (await shell.text("stats")).splitlines()]

    assert lines[-3:] == [["10.0.0.1", "dc1", "up"], ["10.0.1.1", "dc2", "down"], ["10.0.1.2", "dc2", "not", "told"]]


async def test_watching_ends_with_ctrl_c_and_130(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = []

    def interrupt(seconds: float) -> None:
        turns.append(seconds)
        if len(turns) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("cqs.commands.stats.time.sleep", interrupt)

    result = await shell.run("stats", "--watch", "--every", "0.5")

    assert (result.exit_code, turns) == (130, [0.5, 0.5, 0.5])
    assert result.stdout.count("cache hit ratio") == 3
