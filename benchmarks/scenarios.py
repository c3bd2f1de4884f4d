"""The scenarios to measure, and sets of them, as data.

A scenario defines the flags of the load generator and the servers it applies to. `core` is the table of `make bench`;
`full` is the whole matrix (clients, bodies, backlog, queues, pollers, groups), which takes hours; `quick` checks that
the harness works.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_KB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One load. `name` identifies it in results; `title` is shown in tables."""

    name: str
    title: str
    mode: str = "mixed"
    clients: int = 64
    batch: int = 1
    size: int = _KB
    backlog: int = 0
    queues: int = 1
    fifo_groups: int = 0
    pollers: int = 0
    rate: int = 0
    wait_s: int = 0
    warm_up_s: float = 2.0
    duration_s: float = 8.0
    is_signed: bool = True
    is_heavy: bool = True
    """Not for slow servers, which would take hours."""

    def flags(self) -> list[str]:
        """Returns the flags of the load generator, without those of the server."""
        given = {
            "mode": self.mode,
            "clients": self.clients,
            "batch": self.batch,
            "size": self.size,
            "backlog": self.backlog,
            "queues": self.queues,
            "fifo-groups": self.fifo_groups,
            "pollers": self.pollers,
            "rate": self.rate,
            "wait": self.wait_s,
        }
        text = [f"-{name}={value}" for name, value in given.items() if value]
        text += [f"-warmup={self.warm_up_s}s", f"-duration={self.duration_s}s"]
        return [*text, "-sign"] if self.is_signed else text

    def shortened(self, warm_up_s: float, duration_s: float) -> Scenario:
        """Returns the same scenario with a shorter window."""
        return replace(self, warm_up_s=warm_up_s, duration_s=duration_s)


def _mixed(clients: int, batch: int = 1) -> Scenario:
    what = "send, receive, delete" if batch == 1 else "the same, ten a call"
    return Scenario(
        name=f"mixed-{clients}x{batch}",
        title=f"{what}; {clients} client{'s' if clients > 1 else ''}",
        clients=clients,
        batch=batch,
        is_heavy=clients > 64,
    )


def _send(batch: int, backlog: int = 0) -> Scenario:
    return Scenario(
        name=f"send-x{batch}" + _after(backlog),
        title=("send" if batch == 1 else "send, ten a call") + _with(backlog),
        mode="send",
        clients=16,
        batch=batch,
        backlog=backlog,
        duration_s=5.0,
    )


def _receive(batch: int, backlog: int) -> Scenario:
    return Scenario(
        name=f"receive-x{batch}" + _after(backlog),
        title=("receive and delete" if batch == 1 else "receive and delete, ten a call")
        + f", from {backlog:,} waiting",
        mode="receive",
        clients=16,
        batch=batch,
        backlog=backlog,
        warm_up_s=1.0,
        duration_s=5.0,
    )


def _backlog(batch: int, backlog: int) -> Scenario:
    return replace(
        _mixed(16, batch), name=f"mixed-16x{batch}" + _after(backlog), title=_mixed(16, batch).title + _with(backlog),
        backlog=backlog, is_heavy=True,
    )  # fmt: skip


def _after(backlog: int) -> str:
    return f"-after-{backlog}" if backlog else ""


def _with(backlog: int) -> str:
    return f", {backlog:,} waiting" if backlog else ""


_RATE = Scenario(
    name="rate-2000",
    title="2,000 messages a second, in single calls",
    mode="rate",
    clients=64,
    rate=2000,
    wait_s=1,
)
_POLLERS = Scenario(
    name="pollers-1000", title="1,000 idle long pollers", mode="idle", pollers=1000, warm_up_s=3.0, duration_s=15.0
)
_QUICK = [_mixed(16), _mixed(16, 10)]
_CORE = [
    *(_mixed(clients) for clients in (1, 16, 64)),
    *(_mixed(clients, 10) for clients in (1, 16)),
    *(_send(1), _send(10), _receive(1, 50_000), _receive(10, 100_000)),
    *(_backlog(1, 100_000), _backlog(10, 100_000), _send(1, 100_000)),
    *(_RATE, _POLLERS),
]
_MATRIX = [
    *(_mixed(clients) for clients in (1, 16, 64, 256)),
    *(_mixed(clients, 10) for clients in (1, 16, 64, 256)),
    *(
        replace(_mixed(16), name=f"body-{size}", title=f"send, receive, delete; bodies of {size:,} bytes", size=size)
        for size in (256, 4 * _KB, 64 * _KB, 1024 * _KB)
    ),
    *(_backlog(batch, backlog) for backlog in (100_000, 1_000_000) for batch in (1, 10)),
    *(
        replace(_mixed(64), name=f"queues-{queues}", title=f"send, receive, delete; {queues:,} queues", queues=queues)
        for queues in (10, 1_000, 100_000)
    ),
    *(
        replace(
            _mixed(16), name=f"fifo-{groups}", title=f"FIFO, {groups:,} group{'s' if groups > 1 else ''}",
            fifo_groups=groups, wait_s=1,
        )
        for groups in (1, 1_000)
    ),
    *(_send(1), _send(10), _receive(1, 50_000), _receive(10, 100_000)),
    *(_RATE, _POLLERS),
]  # fmt: skip
_ZDMQ = [
    replace(
        _mixed(threads), name=f"zdmq-{threads}-{size}", title=f"{threads} threads, {size // _KB:,} kB", size=size,
        duration_s=5.0,
    )
    for threads in (1, 8, 32, 96)
    for size in (_KB, 64 * _KB, 1024 * _KB)
]  # fmt: skip

SETS = {"quick": _QUICK, "core": _CORE, "full": [*_MATRIX, *_ZDMQ]}
SCENARIOS = {scenario.name: scenario for members in SETS.values() for scenario in members}
