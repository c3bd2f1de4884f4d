"""The Lua scripts, one per action, and how one is put together: common.lua, the parts that the script's first line
names, its own text. Part and script share one scope, so a part's `local` is the script's."""

from __future__ import annotations

from importlib.resources import files

from cqs.cache.redis.connection import Script

_PARTS = "-- parts:"


def load(name: str) -> Script:
    """The script of this name, ready to run."""
    own = _read(name)
    first, _, _ = own.partition("\n")
    assert first.startswith(_PARTS), f"{name}.lua does not name its parts"
    texts = [_read(part) for part in ("common", *first.removeprefix(_PARTS).split())]
    return Script("\n".join([*texts, own]))


def _read(name: str) -> str:
    return (files(__package__) / f"{name}.lua").read_text()
