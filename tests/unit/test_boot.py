"""Declared queues: created in order, updated to the file's settings, otherwise unchanged, or rejected with a reason."""

from __future__ import annotations

import tomllib

import pytest

from cqs import boot
from cqs.config.queues import read_queues
from cqs.errors import ConfigError
from cqs.queue import QueueName
from tests.engine import ACCOUNT, Bench, make_bench


@pytest.fixture
async def bench() -> Bench:
    return await make_bench()


async def declare(bench: Bench, text: str) -> None:
    declared = read_queues(tomllib.loads(text)["queue"], "file q.toml", ACCOUNT)
    await boot.declare(bench.engine, declared)


async def test_queue_and_its_dead_letter_queue_are_made(bench: Bench) -> None:
    await declare(bench, '[[queue]]\nname = "a"\ndead_letter = "b"\nmax_receive_count = 3\n[[queue]]\nname = "b"')

    source = bench.engine.registry.find(QueueName(ACCOUNT, "a"))
    target = bench.engine.registry.find(QueueName(ACCOUNT, "b"))
    assert source.settings.redrive is not None
    assert source.settings.redrive.target_arn == target.arn
    assert source.settings.redrive.receive_count_max == 3


async def test_name_makes_a_fifo_queue_and_account_its_owner(bench: Bench) -> None:
    await declare(bench, '[[queue]]\nname = "a.fifo"\naccount = "111122223333"')

    assert bench.engine.registry.find(QueueName("111122223333", "a.fifo")).settings.is_fifo


async def test_declaring_again_changes_nothing(bench: Bench) -> None:
    text = '[[queue]]\nname = "a"\nattributes = { VisibilityTimeout = 7 }\ntags = { team = "shop" }'
    await declare(bench, text)
    before = bench.engine.registry.find(QueueName(ACCOUNT, "a"))
    bench.clock.advance_ms(5_000)

    await declare(bench, text)

    assert bench.engine.registry.find(QueueName(ACCOUNT, "a")) == before


async def test_existing_queue_gets_what_the_file_names_and_keeps_the_rest(bench: Bench) -> None:
    await bench.create("a", visibility_ms=1_000, delay_ms=2_000)

    await declare(bench, '[[queue]]\nname = "a"\nattributes = { VisibilityTimeout = 7 }\ntags = { team = "shop" }')

    queue = bench.engine.registry.find(QueueName(ACCOUNT, "a"))
    assert (queue.settings.visibility_ms, queue.settings.delay_ms) == (7_000, 2_000)
    assert queue.tags == {"team": "shop"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("attributes = { VisibilityTimeout = 99999 }", r"^queue 'a': \(file q.toml\) Invalid value.*VisibilityTimeout"),
        ("attributes = { Visibility = 9 }", r"^queue 'a': \(file q.toml\) Unknown Attribute Visibility"),
        ('dead_letter = "none"', "^queue 'a': dead_letter = 'none' .file q.toml. names no queue"),
        ('dead_letter = "b.fifo"', r"^queue 'a': \(file q.toml\) "),
        ('dead_letter = "b"\nattributes = { RedrivePolicy = "{}" }', "^queue 'a': "),
        ("attributes = { FifoQueue = true }", r"^queue 'a': \(file q.toml\) "),
        ('tags = { "aws:x" = "y" }', r"^queue 'a': \(file q.toml\) "),
    ],
)
async def test_mistakes_name_the_queue_and_the_reason(bench: Bench, text: str, words: str) -> None:
    await bench.create("b")
    await bench.create("b.fifo")

    with pytest.raises(ConfigError, match=words):
        await declare(bench, f'[[queue]]\nname = "a"\n{text}')
