"""The cache on Redis servers. Its modules need packages that are not always installed."""

from __future__ import annotations

from importlib.util import find_spec

from cqs.errors import CannotStart

_PACKAGES = ("hiredis", "redis")


def check_client() -> None:
    """Raises CannotStart when the packages are not installed."""
    if None in map(find_spec, _PACKAGES):
        raise CannotStart("the Redis client is not installed: pip install 'cqs-server[redis]'")
