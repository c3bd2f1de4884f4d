"""Fixtures for the protocol tests."""

from __future__ import annotations

import pytest

OFTEN_S = 0.05


@pytest.fixture
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the server check every OFTEN_S, instead of every second: slow requests, deadlines, closing connections."""
    for name in ("cqs.api.lane.SLOW_S", "cqs.api.lanes.SLOW_S", "cqs.api.http.connections.SWEEP_S_MAX"):
        monkeypatch.setattr(name, OFTEN_S)
