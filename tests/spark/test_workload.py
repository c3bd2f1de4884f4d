"""Workloads: published ones, files, and ones that can't be played."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from spark_jobs.client import body_of, content_of
from spark_jobs.errors import BadWorkload
from spark_jobs.workload import Workload, cqs_table, named, published


def test_published_tables_are_all_there() -> None:
    names = set(published())

    assert {"cqs-10", "cqs-1000", "bdqs-0", "bdqs-0.1", "eqs", "zdmq-96x1000000", "quick"} <= names
    assert named("bdqs-0.01").quit_probability == 0.01
    assert (named("eqs").senders, named("eqs").bytes) == (16, 5_000)


def test_scaling_keeps_the_shape() -> None:
    full = cqs_table(50)
    small = full.scaled(600)

    assert (small.total, small.queues, small.senders, small.send_rate) == (600, 10, 2, 50)
    assert full.scaled(10**9) == full
    assert named("bdqs-0").scaled(30).total == 30
    assert Workload("one").scaled(1).total == 1


def test_scaled_ramp_is_as_long_beside_its_sends_as_the_full_one() -> None:
    full = named("eqs")
    small = full.scaled(1_600)

    assert small.total == 1_600
    assert full.ramp_ms == 60_000
    assert small.ramp_ms / small.messages == pytest.approx(full.ramp_ms / full.messages, rel=0.01)
    assert small.sending_s < 4


def test_file_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "nightly.toml"
    path.write_text('name = "nightly"\nqueues = 3\nsend_rate = 5\nis_fifo = true\n')

    assert named(str(path)) == Workload("nightly", queues=3, send_rate=5, is_fifo=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("queues = 1", "needs a name"),
        ('name = "x"\nqueus = 1', "there is no queus"),
        ('name = "x"\nqueues = "many"', "should be of type int"),
        ('name = "x"\nis_fifo = 1', "should be of type bool"),
        ('name = "x"\nqueues = 0', "at least 1"),
        ('name = "x"\nprocess_ms = -1', "at least 0"),
        ('name = "x"\nquit_probability = 1.0', "a probability"),
        ('name = "x"\nreceive_max = 11', "receive_max = 11: at most 10"),
        ('name = "x"\nvisibility_s = 43_201', "visibility_s = 43201: at most 43,200"),
        ('name = "x"\nsenders = 0', "nothing would be sent"),
        ('name = "x"\nsend_rate = nan', "at least 0, and finite"),
        ('name = "x"\nsend_rate = inf', "at least 0, and finite"),
        ('name = "it\'s mine"', "queues are named after it"),
        ('name = ""', "queues are named after it"),
        ("name = ", "can't be read"),
    ],
)
def test_file_that_can_not_be_played_says_why(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "w.toml"
    path.write_text(text)

    with pytest.raises(BadWorkload, match=reason):
        named(str(path))


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(BadWorkload, match=r"name a \.toml file or one of cqs-10"):
        named("cqs")


def test_body_checks_itself() -> None:
    body = body_of("run", "s-1", 7, 1_000, random.Random(1))
    content = content_of(body)

    assert len(body) == 1_000
    assert content is not None
    assert (content.run, content.sender, content.index, content.is_intact) == ("run", "s-1", 7, True)
    changed = content_of(body[:-1] + ("0" if body[-1] != "0" else "1"))
    assert changed is not None
    assert not changed.is_intact
    assert content_of("somebody else's") is None


def test_published_producers_send_for_as_long_as_the_paper_says() -> None:
    eqs = named("eqs")

    assert eqs.messages * eqs.senders / eqs.send_rate == pytest.approx(45 * 60)
    assert eqs.ramp_ms == 60_000
