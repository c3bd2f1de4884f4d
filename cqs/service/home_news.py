"""News of homes: who tells whom that a home was taken, and whether this node knows that it was told.

b in dc2                              store                   c in dc2                          dc1, the former home
────────                              ─────                   ────────                          ────────────────────
takes the home, epoch 4 ════════════► dc2, epoch 4
dies before it can tell                      ◄─────────────── reads it: taken, but not told     re-reads its homes
                                                              waits until dc1 has read it, too  every CHECK_MS only
"""

from __future__ import annotations

from cqs.store.coordination import Home, News

TAKEN = "home"
KEPT_MS = 60_000
"""How long it is remembered that a change was told: longer than it matters."""


def news_of(home: Home) -> News:
    return News(TAKEN, f"{home.queue_uid}/{home.shard}/{home.datacenter}/{home.epoch}")


def home_of(subject: str, now_ms: int) -> Home:
    """The home that news told of, taken now at the latest."""
    uid, number, datacenter, epoch = subject.split("/")
    return Home(int(uid), int(number), datacenter, int(epoch), now_ms)


class Told:
    """Changes of homes that were announced to all nodes, by this one or another. Belongs to one event loop."""

    def __init__(self) -> None:
        self._epochs: dict[tuple[int, int], tuple[int, int]] = {}
        """The last epoch of each home, and when it was noted."""

    def note(self, home: Home, now_ms: int) -> None:
        """This change was announced."""
        self._epochs[home.queue_uid, home.shard] = home.epoch, now_ms

    def has(self, home: Home) -> bool:
        """Whether this change was announced within KEPT_MS, as far as this node knows."""
        return self._epochs.get((home.queue_uid, home.shard), (0, 0))[0] >= home.epoch

    def forget_old(self, now_ms: int) -> None:
        """Forgets what was noted KEPT_MS ago."""
        self._epochs = {key: one for key, one in self._epochs.items() if abs(now_ms - one[1]) < KEPT_MS}
