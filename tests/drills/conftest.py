"""The Cassandra nodes that the drills of a test file share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.drills.checking import Rings


@pytest.fixture(scope="module")
def rings() -> Iterator[Rings]:
    rings = Rings()
    yield rings
    rings.stop()
