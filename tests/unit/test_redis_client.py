"""If the Redis client is not installed, one line says what to do, wherever it is needed."""

from __future__ import annotations

from importlib import util
from importlib.machinery import ModuleSpec

import pytest

import cqs.cache.redis
from cqs.clock import SystemClock
from cqs.config import load
from cqs.doctor.examine import examine
from cqs.errors import CannotStart


@pytest.mark.parametrize("place", ["spawn", "redis://127.0.0.1:1"])
async def test_doctor_says_what_the_server_says(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleSpec | None:
        return None if name == "hiredis" else util.find_spec(name)

    monkeypatch.setattr(cqs.cache.redis, "find_spec", missing)
    loaded = load({"redis": place}, {})

    with pytest.raises(CannotStart, match=r"pip install 'cqs-server\[redis\]'"):
        await examine(loaded, SystemClock())
