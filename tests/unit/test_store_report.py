"""What the backends report about the places of their data."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from cassandra.cluster import Cluster

from cqs.backends import store_of, store_report
from cqs.clock import SystemClock
from cqs.config.load import load
from cqs.errors import ConfigError
from cqs.store.cassandra.hosts import hosts_of
from cqs.store.report import StoreHost, StoreReport
from cqs.store.sqlite.files import files_of
from cqs.store.sqlite.schema import FILE_NAME


def test_memory_lies_nowhere() -> None:
    config = load({"in_memory": True}, {}).config

    assert store_report(config, store_of(config, SystemClock())) == StoreReport()


def test_memory_and_cassandra_are_not_both_taken() -> None:
    with pytest.raises(ConfigError, match=r"in_memory: keeps messages in memory, but cassandra .* choose one"):
        store_of(load({"in_memory": True, "cassandra": ["127.0.0.1"]}, {}).config, SystemClock())


def test_a_path_that_is_no_unicode_is_told_with_escapes(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    (folder / FILE_NAME).touch()

    (file,) = files_of(folder / FILE_NAME)

    assert file.path == f"{tmp_path}/\\xff/{FILE_NAME}"


async def test_sqlite_tells_its_files_that_are_there(tmp_path: Path) -> None:
    config = load({"data_dir": str(tmp_path), "sqlite_writer": "thread"}, {}).config
    store = store_of(config, SystemClock())
    assert store_report(config, store).files == ()
    await store.open()
    try:
        told = {Path(one.path): one.size_bytes for one in store_report(config, store).files}
        there = {path: path.stat().st_size for path in told}
    finally:
        await store.close()

    assert told == there
    assert {"messages.db", "messages.db-wal"} <= {path.name for path in told}


def test_hosts_are_told_by_data_centre_with_what_the_driver_knows() -> None:
    known = [
        SimpleNamespace(address="10.0.2.1", datacenter="dc2", rack="r1", release_version="5.0.6", is_up=None),
        SimpleNamespace(address="10.0.1.2", datacenter="dc1", rack="r2", release_version="5.0.6", is_up=False),
        SimpleNamespace(address="10.0.1.1", datacenter="dc1", rack="r1", release_version=None, is_up=True),
    ]
    cluster = SimpleNamespace(metadata=SimpleNamespace(all_hosts=lambda: known))

    found = hosts_of(cast(Cluster, cluster))

    assert found == (
        StoreHost(address="10.0.1.1", datacenter="dc1", rack="r1", is_up=True),
        StoreHost(address="10.0.1.2", datacenter="dc1", rack="r2", version="5.0.6", is_up=False),
        StoreHost(address="10.0.2.1", datacenter="dc2", rack="r1", version="5.0.6"),
    )
    assert StoreReport(hosts=found).lost == [found[1]]
