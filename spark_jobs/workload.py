"""Workloads to play against a server: from a TOML file, from a published table, or (`spark_jobs.recorded`) from a
journal.

    name = "nightly"
    queues = 10
    senders = 2            # per queue
    receivers = 2          # per queue
    messages = 500         # per sender
    send_rate = 50.0       # messages per second and queue; 0 = as fast as possible
    bytes = 1000
    process_ms = 45

`scaled` reduces a published workload and keeps its shape: fewer messages and, where there are many, fewer queues, but
the same clients per queue, rates, sizes and pauses.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import accumulate
from pathlib import Path

from spark_jobs.errors import BadWorkload

_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}")
CQS_GOALS = (10, 50, 75, 100, 250, 500, 1_000)
"""Messages per second and queue in the CQS paper's table."""
BDQS_FAILURES = (0.0001, 0.001, 0.01, 0.1)
ZDMQ_THREADS = (1, 2, 4, 8, 16, 32, 64, 96)
ZDMQ_BYTES = (1_000, 10_000, 100_000, 1_000_000)
QUICK_ALPHA = math.log(5, 4)
"""Of the Pareto distribution of QuiCK's tenants' send rates: four of five messages come from one tenant in five."""
EQS_MINUTES = 45
"""How long each producer sends."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The clients and what each of them does. Rates are per second, probabilities from 0 to 1."""

    name: str
    queues: int = 1
    senders: int = 1
    """Per queue."""
    receivers: int = 1
    """Per queue."""
    messages: int = 100
    """Per sender."""
    send_rate: float = 0.0
    """Messages per second and queue, shared by its senders; 0 = as fast as possible."""
    bytes: int = 1_000
    process_ms: int = 0
    """A receiver's work between receive and delete."""
    visibility_s: int = 30
    receive_max: int = 10
    """Maximum messages per receive."""
    wait_s: int = 1
    """Long-poll wait time."""
    is_fifo: bool = False
    tenants: int = 0
    """Message groups, whose send rates have a Pareto distribution; 0 = none."""
    is_two_phase: bool = False
    """Receivers start after everything is sent."""
    ramp_ms: int = 0
    """Delay between the starts of consecutive senders."""
    sending_ms: int = 0
    """How long sending takes; 0 = as the rates determine."""
    quit_probability: float = 0.0
    """That a receiver stops before it deletes, and starts again."""
    drop_probability: float = 0.0
    """That a call loses its request or its answer, half and half; the client retries."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise BadWorkload(f"name = {self.name!r}: queues are named after it, so 1 to 40 of A-Z a-z 0-9 . _ -")
        for name in ("queues", "messages", "receive_max", "bytes", "visibility_s"):
            if getattr(self, name) < 1:
                raise BadWorkload(f"{name} = {getattr(self, name)}: a workload needs at least 1.")
        for name in ("senders", "receivers", "send_rate", "process_ms", "wait_s", "tenants", "ramp_ms", "sending_ms"):
            if not 0 <= getattr(self, name) < math.inf:
                raise BadWorkload(f"{name} = {getattr(self, name)}: it must be at least 0, and finite.")
        for name in ("quit_probability", "drop_probability"):
            if not 0 <= getattr(self, name) < 1:
                raise BadWorkload(f"{name} = {getattr(self, name)}: a probability is from 0 to below 1.")
        most = {"receive_max": 10, "wait_s": 20, "visibility_s": 43_200, "bytes": 1_000_000}
        for name, limit in most.items():
            if getattr(self, name) > limit:
                raise BadWorkload(f"{name} = {getattr(self, name)}: at most {limit:,} is possible.")

    @property
    def total(self) -> int:
        """Messages in total."""
        return self.queues * self.senders * self.messages

    @property
    def sending_s(self) -> float:
        """Minimum duration of sending, as far as it is known."""
        by_rate = self.senders * self.messages / self.send_rate if self.send_rate else 0.0
        return self.sending_ms / 1_000 if self.sending_ms else self.ramp_ms * self.senders / 1_000 + by_rate

    def scaled(self, messages: int) -> Workload:
        """The same shape with about `messages` messages in total, at least one per sender; a ramp is shortened by the
        same factor as the messages per sender."""
        each = max(1, round(messages / (self.queues * self.senders)))
        if each >= self.messages:
            return self
        queues = self.queues if self.queues * self.senders <= messages else max(1, messages // self.senders)
        return replace(self, messages=each, queues=queues, ramp_ms=self.ramp_ms * each // self.messages)


def from_toml(path: str) -> Workload:
    """Raises BadWorkload, which says what is wrong."""
    try:
        table = tomllib.loads(Path(path).read_text())
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadWorkload(f"{path} can't be read: {error}") from error
    known = {field.name: field for field in fields(Workload)}
    for name, value in table.items():
        if name not in known:
            raise BadWorkload(f"{path}: there is no {name}; a workload has {', '.join(known)}.")
        default = known[name].default
        wanted = str if name == "name" else type(default)
        is_number = wanted is float and type(value) is int
        if type(value) is not wanted and not is_number:
            raise BadWorkload(f"{path}: {name} = {value!r} should be of type {wanted.__name__}.")
    if "name" not in table:
        raise BadWorkload(f"{path}: a workload needs a name.")
    if table.get("senders") == 0:
        raise BadWorkload(f"{path}: senders = 0: nothing would be sent and nothing proven.")
    return Workload(**table)


def cqs_table(goal: int) -> Workload:
    """A row of the CQS paper's table: one minute of sends, 45 ms of work per message."""
    return Workload(
        f"cqs-{goal}",
        queues=10,
        senders=2,
        receivers=2,
        messages=goal * 30,
        send_rate=goal,
        process_ms=45,
        receive_max=1,
    )


def bdqs(failure: float = 0.0) -> Workload:
    """BDQS section V.D: all is sent, then all is received; calls are lost and receivers quit with this probability,
    which BDQS tests one after the other."""
    return Workload(
        f"bdqs-{failure:g}", queues=400, senders=3, receivers=3, messages=100, bytes=2_000, visibility_s=10,
        receive_max=1, is_two_phase=True, quit_probability=failure, drop_probability=failure,
    )  # fmt: skip


def eqs() -> Workload:
    """EQS: sixteen producers, one more each minute, 3,400 messages of 5 kB a minute each, for EQS_MINUTES; here with
    twenty receivers that share the queue, since an SQS queue does not fan out."""
    return Workload(
        "eqs", senders=16, receivers=20, messages=3_400 * EQS_MINUTES, send_rate=3_400 * 16 / 60, bytes=5_000,
        ramp_ms=60_000,
    )  # fmt: skip


def zdmq(threads: int, size: int) -> Workload:
    """ZDMQ's plan: a million messages, sent by 1 to 96 threads, 1 kB to 1 MB each."""
    return Workload(
        f"zdmq-{threads}x{size}", senders=threads, receivers=threads, messages=1_000_000 // threads, bytes=size,
        receive_max=1,
    )  # fmt: skip


def quick() -> Workload:
    """QuiCK's skewed load: a Pareto distribution of the tenants' send rates."""
    return Workload("quick", queues=4, senders=4, receivers=4, messages=6_250, tenants=1_000, send_rate=250)


@cache
def tenant_rates(tenants: int) -> list[float]:
    """Of each and all before it, as `random.choices` takes them: the quantiles of the Pareto distribution."""
    return list(accumulate(((tenant + 0.5) / tenants) ** (-1 / QUICK_ALPHA) for tenant in range(tenants)))


def published() -> dict[str, Workload]:
    """All published workloads, by name."""
    every = [
        *(cqs_table(goal) for goal in CQS_GOALS),
        *(bdqs(failure) for failure in (0.0, *BDQS_FAILURES)),
        eqs(),
        *(zdmq(threads, size) for threads in ZDMQ_THREADS for size in ZDMQ_BYTES),
        quick(),
    ]
    return {workload.name: workload for workload in every}


def named(name: str) -> Workload:
    """A published workload, or the file of that name. Raises BadWorkload."""
    if name in (known := published()):
        return known[name]
    if name.endswith(".toml"):
        return from_toml(name)
    raise BadWorkload(f"{name} is not a workload: name a .toml file or one of {', '.join(known)}.")
