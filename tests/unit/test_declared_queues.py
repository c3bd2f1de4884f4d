"""[[queue]] tables: what they mean, their order, and what each mistake is told."""

from __future__ import annotations

import tomllib

import pytest

from cqs.config.queues import DeclaredQueue, read_queues
from cqs.errors import ConfigError


def read(text: str) -> tuple[DeclaredQueue, ...]:
    return read_queues(tomllib.loads(text).get("queue", []), "file q.toml", frozenset({"data_dir"}))


def test_attributes_become_the_texts_that_sqs_uses() -> None:
    (queue,) = read('[[queue]]\nname = "a"\nattributes = { VisibilityTimeout = 60, Policy = "{}", X = true }')

    assert queue.attributes == {"VisibilityTimeout": "60", "Policy": "{}", "X": "true"}
    assert (queue.account, queue.dead_letter, queue.receive_count_max) == ("", "", 10)


def test_dead_letter_queues_come_first_through_any_chain() -> None:
    queues = read(
        '[[queue]]\nname = "a"\ndead_letter = "b"\n[[queue]]\nname = "b"\ndead_letter = "c"\n[[queue]]\nname = "c"'
    )

    assert [queue.name for queue in queues] == ["c", "b", "a"]


def test_dead_letter_queue_may_exist_already_without_being_declared() -> None:
    (queue,) = read('[[queue]]\nname = "a"\ndead_letter = "elsewhere"\nmax_receive_count = 3')

    assert (queue.dead_letter, queue.receive_count_max) == ("elsewhere", 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("queue = 3", r"expected \[\[queue\]\] tables"),
        ("[[queue]]", "queue number 1: name None"),
        ('[[queue]]\nname = "a b"', "queue number 1: name 'a b' .*expected 1 to 80"),
        ('[[queue]]\nname = "a"\n[[queue]]\nname = "a"', "queue 'a': declared twice"),
        ('[[queue]]\nname = "a"\ndead-letter = "b"', "queue 'a': no such key dead-letter .*did you mean dead_letter"),
        ('[[queue]]\nname = "a"\ndata_dir = "x"', r"queue 'a': data_dir .*write it above the first \[\[queue\]\]"),
        ('[[queue]]\nname = "a"\ndead_letter = "b"\nmax_receive_count = 0', "max_receive_count = 0 .*from 1 to 1000"),
        ('[[queue]]\nname = "a"\nmax_receive_count = 3', "max_receive_count .*needs dead_letter"),
        ('[[queue]]\nname = "a"\naccount = 1', "account = 1 .*twelve digits"),
        ('[[queue]]\nname = "a"\naccount = "' + "٣" * 12 + '"', "account = .*twelve digits"),
        ('[[queue]]\nname = "a"\ndead_letter = 1', "dead_letter = 1 .*name of a queue"),
        ('[[queue]]\nname = "a"\ntags = ["x"]', "tags = .*expected a table"),
        ('[[queue]]\nname = "a"\nattributes = { X = 1.5 }', "attributes = .*expected a table"),
        ('[[queue]]\nname = "a"\ndead_letter = "a"', "dead letters go round in a circle .a → a;"),
        (
            '[[queue]]\nname = "a"\ndead_letter = "b"\n[[queue]]\nname = "b"\ndead_letter = "a"',
            "circle .a → b → a; file q.toml",
        ),
    ],
)
def test_mistakes_are_named(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read(text)
