"""Rendezvous hashing: the same result everywhere, fair, and moving no more keys than necessary."""

from __future__ import annotations

from collections import Counter

import pytest

from cqs.cluster.ring import Ring

RECORDED = ["redis-2", "redis-3", "redis-3", "redis-3", "redis-1", "redis-3", "redis-3", "redis-1"]
KEYS = [b"cqs:{%d:0}:state" % number for number in range(6_000)]


def test_owner_is_the_same_whatever_the_order_of_the_servers() -> None:
    one = Ring({"a": 1, "b": 1, "c": 1})
    other = Ring({"c": 1, "a": 1, "b": 1})

    assert [one.owner(key) for key in KEYS] == [other.owner(key) for key in KEYS]


def test_owner_never_changes_between_releases() -> None:
    ring = Ring({"redis-1": 1, "redis-2": 1, "redis-3": 2})

    assert [ring.owner(key) for key in KEYS[:8]] == RECORDED


def test_one_server_owns_everything() -> None:
    assert {Ring({"only": 3}).owner(key) for key in KEYS} == {"only"}


def test_each_server_owns_its_share() -> None:
    owned = Counter(map(Ring(dict.fromkeys("abcd", 1)).owner, KEYS))

    assert all(abs(count - len(KEYS) / 4) < len(KEYS) / 40 for count in owned.values())


def test_weight_is_a_share() -> None:
    owned = Counter(map(Ring({"small": 1, "large": 3}).owner, KEYS))

    assert abs(owned["large"] - len(KEYS) * 3 / 4) < len(KEYS) / 40


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_added_server_takes_its_share_and_nothing_else_moves(count: int) -> None:
    names = [f"redis-{number}" for number in range(count)]
    before, after = Ring(dict.fromkeys(names, 1)), Ring(dict.fromkeys([*names, "new"], 1))

    moved = [key for key in KEYS if before.owner(key) != after.owner(key)]

    assert {after.owner(key) for key in moved} == {"new"}
    assert abs(len(moved) - len(KEYS) / (count + 1)) < len(KEYS) / 40


def test_removed_server_gives_its_keys_to_all_others() -> None:
    before, after = Ring(dict.fromkeys("abcd", 1)), Ring(dict.fromkeys("abd", 1))

    moved = [key for key in KEYS if before.owner(key) != after.owner(key)]

    assert {before.owner(key) for key in moved} == {"c"}
    assert {after.owner(key) for key in moved} == {"a", "b", "d"}


@pytest.mark.parametrize("weights", [{}, {"a": 0}, {"a": 1, "b": -1}])
def test_ring_without_servers_or_weights_is_refused(weights: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a ring needs servers"):
        Ring(weights)
