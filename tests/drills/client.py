"""A client that retries like an SDK: with exponential backoff, at the next endpoint, after broken connections,
timeouts, 5xx and throttling. The history records every attempt.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.crash.raw_client import ConnectionLost, RawClient, Refused
from tests.drills.history import Call, History, Outcome

ANSWER_S_MAX = 10.0
"""Response timeout, in addition to a receive's WaitTimeSeconds."""
PAUSE_MIN_S, PAUSE_MAX_S = 0.05, 2.0
_THROTTLED = ("RequestThrottled", "OverLimit")


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a call. `started_s`, `ended_s`: of its last attempt. `unknown`: how many attempts may have taken
    effect without a response."""

    outcome: Outcome
    content: dict[str, Any]
    started_s: float
    ended_s: float
    unknown: int


class Client:
    """Serves one task. It calls `ports` before each attempt, so that it follows changes of the nodes."""

    def __init__(
        self, ports: Callable[[], Sequence[int]], history: History, rng: random.Random, *, tries: int = 8
    ) -> None:
        self._ports = ports
        self._history = history
        self._rng = rng
        self._tries = tries
        self._turn = rng.randrange(1 << 16)
        self._clients: dict[int, RawClient] = {}

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    async def call(self, action: str, *, wait_s: float = 0, **members: Any) -> Answer:
        """Returns the first attempt that succeeds or is refused (not throttled), or else the last. Never raises."""
        unknown, pause_s = 0, PAUSE_MIN_S
        for left in range(self._tries - 1, -1, -1):
            started_s = time.monotonic()
            outcome, content = await self._attempt(action, members, wait_s)
            ended_s = time.monotonic()
            is_done = outcome is Outcome.DONE
            error = "" if is_done else str(content["error"])
            self._history.calls.append(Call(action, started_s, ended_s, is_done, error))
            unknown += outcome is Outcome.UNKNOWN
            is_final = is_done or (outcome is Outcome.REFUSED and not _is_throttled(content))
            if is_final or not left:
                break
            self._turn += 1
            await asyncio.sleep(pause_s * (0.5 + self._rng.random() / 2))
            pause_s = min(2 * pause_s, PAUSE_MAX_S)
        return Answer(outcome, content, started_s, ended_s, unknown)

    async def _attempt(self, action: str, members: dict[str, Any], wait_s: float) -> tuple[Outcome, dict[str, Any]]:
        ports = self._ports()
        port = ports[self._turn % len(ports)]
        client = self._clients.setdefault(port, RawClient(port))
        try:
            async with asyncio.timeout(ANSWER_S_MAX + wait_s):
                return Outcome.DONE, await client.call(action, **members)
        except Refused as refusal:
            outcome = Outcome.UNKNOWN if refusal.status >= 500 else Outcome.REFUSED
            return outcome, {"error": str(refusal)}
        except (ConnectionLost, TimeoutError) as error:
            client.close()
            return Outcome.UNKNOWN, {"error": repr(error)}


def _is_throttled(content: dict[str, Any]) -> bool:
    return any(word in content.get("error", "") for word in _THROTTLED)
