"""Common to all tests: `needs` marks, and no setting of the developer's shell reaches a test, nor its `nohup`.

Generated cases are new ones at every run of a developer's, and the same ones in CI, so that a change is judged by what
it changes. A failing case that chance finds becomes a test of its own.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

from tests import needs

_OURS = ("CQS_QUERY_PYTHON", "CQS_AWSCLI", "CQS_CELERY_PYTHON")
"""Where the tests find other interpreters; no settings of the server."""

_SLOW = (
    "contract/test_store_sqlite_crash.py",
    "protocol/test_fuzz.py",
    "protocol/test_lanes.py",
    "unit/test_policy.py",
    "unit/test_sigv4.py",
)
"""What `make check` leaves to `make test`: thousands of generated cases, and processes that are killed."""


_LAST = ("unit/test_layers.py", "unit/test_plural.py", "unit/test_tidy.py")
"""What fills the memory with syntax trees, which slow down the garbage collector."""


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


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """For tests that set logging up: nobody after them writes to where they did."""
    before = logging.root.handlers, logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers, logging.root.level = before
