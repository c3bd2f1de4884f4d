"""`/metrics` reports what happened, as parsed by the Prometheus library."""

from __future__ import annotations

import re

import pytest

from cqs.api.metrics_page import metrics_mounts
from cqs.api.origins import Origins, Unsigned
from cqs.metrics import declarations as d
from cqs.metrics.node import Build, NodeMetrics
from cqs.service import visibility
from tests.engine import make_bench
from tests.protocol.measured import measured
from tests.protocol.world import make_world

QUEUE = '{queue="orders"}'
OTHER = '{queue="_other"}'


async def test_life_of_messages_is_counted() -> None:
    async with measured() as node:
        bench, queue = node.bench, node.world.standard
        await bench.send(queue, "one", "two", "x" * 2_000)
        deliveries = await bench.receive(queue, count_max=2)
        await node.world.json(
            "DeleteMessage", QueueUrl="http://a/000000000000/orders", ReceiptHandle=deliveries[0].handle
        )
        await visibility.change(bench.engine, queue, deliveries[1].handle, 5_000)
        await node.sample()

        told = await node.scrape()

    assert told["cqs_messages_sent_total" + QUEUE] == 3
    assert told["cqs_messages_received_total" + QUEUE] == 2
    assert told["cqs_messages_deleted_total" + QUEUE] == 1
    assert told["cqs_visibility_changes_total" + QUEUE] == 1
    assert told["cqs_messages_visible" + QUEUE] == 1
    assert told["cqs_messages_in_flight" + QUEUE] == 1
    assert told["cqs_message_size_bytes_sum" + QUEUE] == 2_006
    assert told['cqs_message_size_bytes_bucket{le="1024.0",queue="orders"}'] == 2
    assert told['cqs_message_size_bytes_bucket{le="4096.0",queue="orders"}'] == 3
    assert told['cqs_requests_total{action="DeleteMessage",code="ok"}'] == 1
    assert told['cqs_request_duration_seconds_count{action="DeleteMessage"}'] == 1
    assert told["cqs_messages_sent_total" + OTHER] == 0


async def test_gauges_are_as_of_the_scrape() -> None:
    async with measured() as node:
        await node.sample()
        await node.bench.send(node.world.standard, "one")
        node.bench.clock.advance_ms(7_500)

        told = await node.scrape()

    assert told["cqs_messages_visible" + QUEUE] == 1
    assert told["cqs_oldest_message_age_seconds" + QUEUE] == 7.5
    assert told["cqs_retention_seconds" + QUEUE] == 345_600
    assert (told["cqs_queues"], told["cqs_queue_series"], told["cqs_leader"]) == (2, 2, 1)


@pytest.mark.parametrize("path", [b"/metrics", b"/jmx"])
async def test_web_pages_may_not_read_them(path: bytes) -> None:
    world = await make_world()
    mounts = metrics_mounts(world.bench.engine, Origins(unsigned=Unsigned.LOOPBACK))
    async with world.listening(mounts=mounts) as door:
        rebound = await door.exchange(b"GET %s HTTP/1.1\r\nHost: evil.example:9324\r\n\r\n" % path)
        foreign = await door.exchange(b"GET %s HTTP/1.1\r\nHost: a\r\nOrigin: http://evil.example\r\n\r\n" % path)
        scraper = await door.exchange(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1:9324\r\n\r\n" % path)

    assert (rebound.status, foreign.status, scraper.status) == (403, 403, 200)


async def test_only_fifo_queues_have_fifo_series_and_only_standard_ones_noisy_groups() -> None:
    async with measured() as node:
        await node.bench.send(node.world.fifo, "one", group="g")
        await node.bench.receive(node.world.fifo)
        await node.sample()

        told = await node.scrape()

    assert told['cqs_groups_in_flight{queue="orders.fifo"}'] == 1
    assert 'cqs_noisy_groups{queue="orders.fifo"}' not in told
    assert "cqs_groups_in_flight" + QUEUE not in told
    assert "cqs_messages_deduplicated_total" + QUEUE not in told


async def test_dead_letter_queue_is_marked() -> None:
    async with measured() as node:
        dead = await node.bench.create("dead")
        policy = f'{{"deadLetterTargetArn": "{dead.arn}", "maxReceiveCount": 3}}'
        await node.world.json(
            "SetQueueAttributes", QueueUrl="http://a/000000000000/orders", Attributes={"RedrivePolicy": policy}
        )
        await node.sample()

        told = await node.scrape()

    assert {name for name in told if name.startswith("cqs_dead_letter_queue")} == {
        'cqs_dead_letter_queue{queue="dead"}'
    }


async def test_queues_beyond_the_bound_are_one_series_and_nothing_is_lost() -> None:
    async with measured(NodeMetrics(places=2)) as node:
        for number in range(5):
            await node.bench.send(await node.bench.create(f"q{number}"), "x")
        await node.sample()

        told = await node.scrape()

    sent = {name: value for name, value in told.items() if name.startswith("cqs_messages_sent_total")}
    visible = {name: value for name, value in told.items() if name.startswith("cqs_messages_visible")}
    assert len(sent) == len(visible) == 3
    assert sum(sent.values()) == sum(visible.values()) == 5
    assert told["cqs_messages_visible" + OTHER] == 3


async def test_queue_with_old_messages_and_no_traffic_has_its_series() -> None:
    before = await make_bench()
    await before.send(await before.create("quiet"), "x")
    async with measured(NodeMetrics(places=1), store=before.store, clock=before.clock) as node:
        await node.sample()

        told = await node.scrape()

    assert told['cqs_messages_visible{queue="quiet"}'] == 1


async def test_node_that_does_not_lead_leaves_out_what_all_share() -> None:
    async with measured(NodeMetrics(is_leader=lambda: False)) as node:
        await node.bench.send(node.world.standard, "x")
        await node.sample()

        told = await node.scrape()

    shared = [metric.name for metric in d.ALL if metric.scope is d.Scope.SHARED]
    assert [name for name in told if name.partition("{")[0] in shared] == []
    assert told["cqs_messages_sent_total" + QUEUE] == 1
    assert told["cqs_leader"] == 0


async def test_build_and_process_are_told() -> None:
    async with measured(NodeMetrics(build=Build(version="9.9", python="3", store="sqlite", cache="memory"))) as node:
        told = await node.scrape()

    assert told['cqs_build_info{cache="memory",python="3",store="sqlite",version="9.9"}'] == 1
    assert told["process_open_fds"] > 0
    assert told["process_resident_memory_bytes"] > 1_000_000


async def test_watched_gauge_is_asked_at_each_scrape() -> None:
    async with measured() as node:
        node.bench.engine.metrics.watch(d.CONNECTIONS, lambda: len(node.door.app.connections))

        assert (await node.scrape())["cqs_connections"] == 1


async def test_commits_are_measured() -> None:
    async with measured() as node:
        node.bench.engine.metrics.commit_done(3, 2_000_000, 4_000_000)

        told = await node.scrape()

    assert told['cqs_commit_jobs_bucket{le="2.0"}'] == 0
    assert told['cqs_commit_jobs_bucket{le="4.0"}'] == 1
    assert told["cqs_commit_wait_seconds_sum"] == 0.002
    assert told["cqs_commit_duration_seconds_sum"] == 0.004


async def test_hit_ratio_is_that_of_the_last_ten_minutes() -> None:
    async with measured() as node:
        assert (await node.scrape())["cqs_cache_hit_ratio"] == 1

        stats = node.bench.engine.metrics.queues.meet(node.world.standard)
        stats.received, stats.from_store = 4, 1
        await node.sample()
        assert (await node.scrape())["cqs_cache_hit_ratio"] == 0.75

        node.bench.clock.advance_ms(600_000)
        await node.sample()
        assert (await node.scrape())["cqs_cache_hit_ratio"] == 1


async def test_every_declared_metric_is_told_and_no_other() -> None:
    async with measured() as node:
        node.bench.engine.metrics.watch(d.CONNECTIONS, lambda: 0)
        node.bench.engine.metrics.watch(d.STORE_SIZE, lambda: 0)
        doors = (d.REQUEST_BYTES, d.CROWDED_OUT, d.UNREAD_BYTES, d.CUT_OFF)
        for gauge in (d.JOURNAL_MISSING, d.CACHE_TROUBLE, d.STORE_LOST, d.STORE_TROUBLE, d.SWEEP_FOUND, *doors):
            node.bench.engine.metrics.watch(gauge, lambda: 0)
        text = (await node.get("/metrics")).body.decode()

    told = {match[1]: match[2] for match in re.finditer(r"# TYPE (cqs_\S+) (\S+)", text)}
    assert told == {metric.name: metric.kind.value for metric in d.ALL}
    helps = dict(re.findall(r"# HELP (cqs_\S+) (.*)", text))
    assert helps == {metric.name: metric.documentation for metric in d.ALL}


async def test_counters_of_a_deleted_queue_do_not_fall() -> None:
    async with measured() as node:
        await node.bench.send(node.world.standard, "x")
        await node.world.json("DeleteQueue", QueueUrl="http://a/000000000000/orders")
        await node.sample()
        after = await node.scrape()

        again = await node.bench.create("orders")
        await node.bench.send(again, "y")

        assert after["cqs_messages_sent_total" + QUEUE] == 1
        assert "cqs_messages_visible" + QUEUE not in after
        assert (await node.scrape())["cqs_messages_sent_total" + QUEUE] == 2


async def test_page_is_read_only() -> None:
    async with measured() as node:
        answer = await node.door.exchange(b"PUT /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        below = await node.get("/metrics/x")

    assert (answer.status, below.status) == (405, 404)


async def test_refusals_name_no_versions() -> None:
    async with measured() as node:
        answer = await node.door.exchange(b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")

    assert (answer.status, answer.headers["server"]) == (405, "cqs")
