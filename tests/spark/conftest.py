"""One real, small Spark session on two cores for all tests here, and the journals they read."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import needs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FOLDER = Path(__file__).parent
_PARTS = "spark.sql.shuffle.partitions"
_IGNORED = ("ignore:unclosed:ResourceWarning", "ignore:.*unclosed:pytest.PytestUnraisableExceptionWarning")
"""Warnings to ignore: py4j leaves closing its sockets to the garbage collector."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _FOLDER in item.path.parents:
            item.add_marker(pytest.mark.timeout(600))
            item.add_marker(needs.needs("java"))
            for ignored in _IGNORED:
                item.add_marker(pytest.mark.filterwarnings(ignored))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    if importlib.util.find_spec("pyspark") is None or importlib.util.find_spec("pyarrow") is None:
        needs.absent("needs pyspark", "pip install 'cqs-server[spark]'")
    from spark_jobs.connector import connector_settings
    from spark_jobs.session import SMALL, session

    has_maven = not needs.missing_programs(("mvn",))
    started = session("tests", "local[2]", settings=SMALL | (connector_settings() if has_maven else {}))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def in_parts(spark: SparkSession) -> Iterator[None]:
    """Makes shuffles use three partitions, since those of a cluster have many; the session's default is one."""
    spark.conf.set(_PARTS, "3")
    yield
    spark.conf.set(_PARTS, "1")
