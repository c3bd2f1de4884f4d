"""While Cassandra is silent it is probed, by one probe after the other."""

from __future__ import annotations

import asyncio

import pytest

from cqs.errors import StoreUnavailable
from cqs.store.cassandra.silence import Silence

SILENT_S = 1.5


class Scene:
    """A silence whose probes fail until `is_there`, and whose pauses end when `go_on` is called."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.probes = 0
        self.is_there = False
        self._gate = asyncio.Semaphore(0)
        self.silence = Silence("here", self._probe, lambda: self.now_s, self._pause)

    async def _probe(self) -> None:
        self.probes += 1
        if not self.is_there:
            raise StoreUnavailable("no quorum")
        self.silence.answered()

    async def _pause(self, _: float) -> None:
        await self._gate.acquire()

    async def begin(self) -> None:
        """A call ends that nobody answered."""
        began_s, self.now_s = self.now_s, self.now_s + SILENT_S
        self.silence.unanswered(began_s, SILENT_S)
        await _turns()

    async def go_on(self) -> None:
        """The pause after a probe ends."""
        self._gate.release()
        await _turns()


async def _turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_it_is_probed_until_it_answers() -> None:
    scene = Scene()
    await scene.begin()
    await scene.begin()
    assert scene.probes == 1

    await scene.go_on()
    assert scene.probes == 2
    with pytest.raises(StoreUnavailable):
        scene.silence.check()

    scene.is_there = True
    await scene.go_on()
    scene.silence.check()
    await scene.go_on()
    assert scene.probes == 3


async def test_the_next_silence_is_probed_again() -> None:
    scene = Scene()
    scene.is_there = True
    await scene.begin()
    assert scene.probes == 1

    await scene.begin()

    assert scene.probes == 2


async def test_a_silence_that_begins_again_in_the_pause_after_a_probe_is_probed_on_by_the_same() -> None:
    scene = Scene()
    await scene.begin()
    scene.silence.answered()

    await scene.begin()
    assert scene.probes == 1
    await scene.go_on()
    assert scene.probes == 2
    await scene.silence.close()


async def test_once_closed_it_is_probed_no_more() -> None:
    scene = Scene()
    await scene.begin()

    await scene.silence.close()
    await scene.go_on()

    assert scene.probes == 1
