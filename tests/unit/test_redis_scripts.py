"""Redis scripts and key definitions must agree."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqs.cache.interface import Shard
from cqs.cache.redis import keys
from cqs.cache.redis.scripts import NAMES, all_scripts, load
from tests.unit.sources import ROOT

FOLDER = ROOT / "cqs" / "cache" / "redis" / "scripts"
FILES = {path.stem: path.read_text() for path in FOLDER.glob("*.lua")}
INCLUDE = re.compile(r"^ *-- include: (.+)$", re.MULTILINE)
INCLUDES = {name: set(" ".join(INCLUDE.findall(text)).split()) for name, text in FILES.items()}
SHARDS = st.builds(Shard, st.integers(0, 2**64), st.booleans(), st.integers(0, 1_000))


def test_every_file_is_a_script_or_a_part_of_one() -> None:
    parts = set().union(*INCLUDES.values())

    assert FILES.keys() == parts | set(NAMES)
    assert not parts & set(NAMES)


@pytest.mark.parametrize("name", sorted(FILES))
def test_header_tells_the_keys(name: str) -> None:
    header = re.match(r"(--.*\n)+", FILES[name])
    assert header is not None

    if name in NAMES:
        assert "-- Keys: " in header[0]
        assert "ARGV" in header[0] or not re.search(r"ARGV\[[4-9]", FILES[name])


def test_scripts_are_plain_lua() -> None:
    used = {name: re.findall(r"\b(?:cjson|cmsgpack|struct|bit)\.", text) for name, text in FILES.items()}

    assert not any(used.values()), used


def test_no_include_is_left() -> None:
    assert not any(INCLUDE.search(script.text.decode()) for script in all_scripts())


def test_script_is_loaded_once() -> None:
    assert load("put") is load("put")


def test_keys_are_the_same_on_both_sides() -> None:
    listed = re.search(r"local function all_keys\(\).*?'([a-z ]+)'", FILES["common"], re.DOTALL)
    assert listed is not None

    assert set(listed[1].split()) == set(keys.SHARD_KEYS)
    assert keys.NUMBER.decode() in FILES["begin_fill"]


@given(shard=SHARDS)
def test_name_in_the_vesting_index_tells_the_shard(shard: Shard) -> None:
    assert keys.shard_of(keys.vesting_name(shard)) == shard


@given(one=SHARDS, other=SHARDS)
def test_shards_share_no_keys(one: Shard, other: Shard) -> None:
    is_same = (one.storage_id, one.number) == (other.storage_id, other.number)

    assert (keys.state_key(one) == keys.state_key(other)) is is_same


def test_keys_of_a_shard_are_one_hash_slot() -> None:
    assert keys.state_key(Shard(36 * 36 + 35, number=7)) == b"cqs:{10z:7}:state"
