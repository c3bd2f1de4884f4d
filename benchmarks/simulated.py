"""An event loop with simulated time: it jumps to the next timer as soon as nothing else can run. With seeded delays, a
run of concurrent tasks is reproducible and takes only the time of its Python code.

    with simulated() as runner:
        runner.run(main())              asyncio.sleep(3_600) in it takes no time
"""

from __future__ import annotations

import asyncio
import selectors

START_MS = 1_790_000_000_000


class _Jumping(selectors.SelectSelector):
    """A selector that skips its timeout instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everything waits, and nothing will ever come")
        if not ready and timeout is not None:
            self.now_s += max(timeout, 0.0)
        return ready


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Simulated time starts at 0 s."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Simulated seconds."""
        return self._jumping.now_s


class LoopClock:
    """A `cqs.clock.Clock` that shows the time of the running loop."""

    def now_ms(self) -> int:
        return START_MS + int(asyncio.get_running_loop().time() * 1_000)


def simulated() -> asyncio.Runner:
    return asyncio.Runner(loop_factory=SimulatedLoop)
