"""Common to the tests of the doors."""

from __future__ import annotations

import pytest

OFTEN_S = 0.05


@pytest.fixture
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a server looks at each second it looks at each OFTEN_S: slow requests, deadlines, connections at its end."""
    for name in ("cqs.api.lane.SLOW_S", "cqs.api.lanes.SLOW_S", "cqs.api.http.connections.SWEEP_S_MAX"):
        monkeypatch.setattr(name, OFTEN_S)
