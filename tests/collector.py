"""Python's garbage collector out of the way, to see what goes without it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_off() -> Iterator[None]:
    """Begins without garbage; within it what is in a circle stays."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def lives(kind: type) -> bool:
    """Whether there is an object of it."""
    return any(isinstance(one, kind) for one in gc.get_objects())
