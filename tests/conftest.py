"""Common to all tests: `needs` marks, and isolation from the developer's shell, its settings and `nohup`.

Property-based tests use new random cases in each local run and the same ones in CI, so that a build fails only because
of its own change. A failing case found at random is added as a test of its own.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest
import structlog
from hypothesis import settings

from cqs.store.sqlite import ballast
from tests import needs

_OURS = ("CQS_QUERY_PYTHON", "CQS_AWSCLI", "CQS_CELERY_PYTHON")
"""Paths of other interpreters for the tests; not settings of the server."""

_SLOW = (
    "contract/test_store_sqlite_crash.py",
    "protocol/test_fuzz.py",
    "protocol/test_lanes.py",
    "unit/test_policy.py",
    "unit/test_sigv4.py",
)
"""Tests that `make check` skips and `make test` runs: thousands of generated cases, and processes that are killed."""


_LAST = ("unit/test_layers.py", "unit/test_plural.py", "unit/test_tidy.py")
"""Tests that run last because they fill the memory with syntax trees, which slow down the garbage collector."""


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile("ci", derandomize=True, print_blob=True)
    if os.environ.get("CI") == "true":
        settings.load_profile("ci")
    config.addinivalue_line("markers", "needs(*programs): skipped without these programs; a failure with CI=true")
    config.addinivalue_line("markers", "slow: takes more than a few seconds; left out of `make check`")
    for name in list(os.environ):
        if name.startswith(("CQS_", "AWS_")) and name not in _OURS:
            del os.environ[name]
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).endswith(_SLOW):
            item.add_marker("slow")
    items.sort(key=lambda item: str(item.path).endswith(_LAST))


def pytest_collection_finish() -> None:
    """What is imported by now stays: the garbage collector need not look through it for each test that calls it."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    needs.check(item)


@pytest.fixture(scope="session", autouse=True)
def _no_ballast_stays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each data folder has a placeholder of 33 MiB: together 6 GB a run, and pytest keeps the folders of three runs."""
    yield
    for folder, _, files in os.walk(tmp_path_factory.getbasetemp()):
        if ballast.FILE_NAME in files:
            with suppress(OSError):
                os.unlink(os.path.join(folder, ballast.FILE_NAME))


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """For tests that configure logging: restores the configuration afterwards."""
    before = logging.root.handlers, logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers, logging.root.level = before
