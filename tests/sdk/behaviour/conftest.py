"""Fixtures of the behaviour suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.integration.process import until_waiting
from tests.sdk.behaviour.talk import Poll
from tests.sdk.server_process import ServerProcess


@pytest.fixture
def poll(sqs: Any) -> Iterator[Callable[..., Poll]]:
    """Starts a long poll in a thread: `poll(url, wait=20)`."""
    with ThreadPoolExecutor(32) as pool:
        yield partial(Poll, pool, sqs)


@pytest.fixture
def until_polls_wait(server: ServerProcess) -> Callable[..., None]:
    """Waits until all polls of this test have found nothing and wait for messages: `until_polls_wait(count=1)`."""
    return partial(until_waiting, server.url)
