"""[[queue]] tables: their meaning, their order, and the error for each mistake."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from cqs.config import report
from cqs.config.load import load
from cqs.config.queues import KEYS, DeclaredQueue, read_queues
from cqs.errors import ConfigError

ACCOUNT = "000000000000"


def read(text: str) -> tuple[DeclaredQueue, ...]:
    return read_queues(tomllib.loads(text).get("queue", []), "file q.toml", ACCOUNT, frozenset({"data_dir"}))


def test_attributes_become_the_texts_that_sqs_uses() -> None:
    (queue,) = read('[[queue]]\nname = "a"\nattributes = { VisibilityTimeout = 60, Policy = "{}", X = true }')

    assert queue.attributes == {"VisibilityTimeout": "60", "Policy": "{}", "X": "true"}
    assert (queue.account, queue.dead_letter, queue.receive_count_max) == (ACCOUNT, "", 10)


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
        ("queue = 3", r"expected \[\[queue\]\], in double"),
        ("[[queue]]", "queue number 1: name None"),
        ('[[queue]]\nnam = "a"', r"queue number 1: no such key nam .*did you mean name\?"),
        ('[[queue]]\nname = "a b"', "queue number 1: name 'a b' .*expected 1 to 80"),
        ('[[queue]]\nname = "a"\n[[queue]]\nname = "a"', "queue 'a': declared twice"),
        (
            f'[[queue]]\nname = "a"\n[[queue]]\nname = "a"\naccount = "{ACCOUNT}"',
            "queue 'a': declared twice",
        ),
        ('[[queue]]\nname = "a"\ndead-letter = "b"', "queue 'a': no such key dead-letter .*did you mean dead_letter"),
        ('[[queue]]\nname = "a"\nfifo = true', "queue 'a': no such key fifo .*expected one of name, account"),
        ('[[queue]]\nname = "a"\ndata_dir = "x"', r"queue 'a': data_dir .*write it above the first \[\[queue\]\]"),
        ('[[queue]]\nname = "a"\ndead_letter = "b"\nmax_receive_count = 0', "max_receive_count = 0 .*from 1 to 1000"),
        ('[[queue]]\nname = "a"\nmax_receive_count = 3', "max_receive_count .*needs dead_letter"),
        ('[[queue]]\nname = "a"\naccount = 1', "account = 1 .*twelve digits"),
        ('[[queue]]\nname = "a"\naccount = "' + "٣" * 12 + '"', "account = .*twelve digits"),
        ('[[queue]]\nname = "a"\ndead_letter = 1', "dead_letter = 1 .*name of a queue"),
        ('[[queue]]\nname = "a"\ntags = ["x"]', "tags = .*expected a table"),
        ('[[queue]]\nname = "a"\nattributes = { X = 1.5 }', "attributes = .*expected a table"),
        ('[[queue]]\nname = "a"\ndead_letter = "a"', "the dead-letter queues form a cycle .a → a;"),
        (
            '[[queue]]\nname = "a"\ndead_letter = "b"\n[[queue]]\nname = "b"\ndead_letter = "a"',
            "cycle .a → b → a; file q.toml",
        ),
    ],
)
def test_mistakes_are_named(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read(text)


def test_every_key_is_in_the_reference_with_what_it_expects() -> None:
    text = report.as_markdown().partition("## Queues declared in the file")[2]

    for name, key in KEYS.items():
        (line,) = (line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        assert key.help in line and key.expects in line
    assert "| `max_receive_count` | `10` |" in text


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_read_and_what_it_does_not_expect_is_refused(key: str) -> None:
    good = {"name": "a", "account": "111122223333", "attributes": {"X": 1}, "tags": {"t": "v"}, "dead_letter": "b",
            "max_receive_count": 3}  # fmt: skip
    assert good.keys() == KEYS.keys()

    (queue,) = read_queues([good], "file q.toml", ACCOUNT)
    assert queue == DeclaredQueue("a", "file q.toml", "111122223333", {"X": "1"}, {"t": "v"}, "b", 3)
    with pytest.raises(ConfigError, match=f"{key} .*expected"):
        read_queues([good | {key: [1.5]}], "file q.toml", ACCOUNT)


@pytest.mark.parametrize(
    "text, hint",
    [
        ('[[queues]]\nname = "a"', r"queues: .* the only one is \[\[queue\]\]"),
        ("[server]\nport = 1", r"server: .* settings go above it"),
        ('[[user]]\nname = "ann"', r"user: .* the file that users_file names"),
        ("x7 = 1", r"x7: no such setting \(file .*\); `cqs config` lists all"),
    ],
)
def test_an_unknown_table_is_not_taken_for_a_misspelled_setting(tmp_path: Path, text: str, hint: str) -> None:
    (file := tmp_path / "cqs.toml").write_text(text)

    with pytest.raises(ConfigError, match=hint):
        load({}, {}, str(file))
