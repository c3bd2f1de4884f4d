"""Fixtures of the behaviour suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.sdk.behaviour.talk import Poll


@pytest.fixture
def poll(sqs: Any) -> Iterator[Callable[..., Poll]]:
    """Starts a long poll in a thread: `poll(url, wait=20)`."""
    with ThreadPoolExecutor(32) as pool:
        yield partial(Poll, pool, sqs)
