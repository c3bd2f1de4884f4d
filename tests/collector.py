"""Turns Python's garbage collector off, to test what is freed without it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_off() -> Iterator[None]:
    """Collects all garbage first. Inside, reference cycles are not freed."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def lives(kind: type) -> bool:
    """Whether an object of the class exists."""
    return any(isinstance(one, kind) for one in gc.get_objects())
