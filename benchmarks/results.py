"""Raw results: one JSON file per run, kept in the repository, with the command that produced the figures."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "results"


class Latency(msgspec.Struct, frozen=True):
    """Milliseconds."""

    mean: float
    p50: float
    p95: float
    p99: float
    p99_9: float
    max: float


class Calls(msgspec.Struct, frozen=True):
    """One kind of call in the window, without empty receives."""

    calls: int
    calls_per_s: float
    messages: int
    messages_per_s: float
    latency_ms: Latency


class Load(msgspec.Struct, frozen=True):
    """The result of the load generator (benchmarks/load/tally.go)."""

    mode: str
    seconds: float
    calls_per_s: float
    messages_per_s: float
    calls: dict[str, Calls]
    empty_receives: int
    errors: int
    reconnects: int
    bytes_in: int
    bytes_out: int
    md5_checked: int
    acknowledged: int
    received: int
    duplicates: int
    waiting: int
    setup_seconds: float
    generator_cpu_s: float
    age_ms: Latency | None = None
    error_texts: dict[str, int] = {}


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One window on one server."""

    scenario: str
    server: str
    repetition: int
    command: str
    cpu_s: float
    """CPU of the server in the window."""
    resident_mb: float
    """Memory of the server at the end of the window."""
    other_cpu: float
    """Cores used by neither the server nor the load generator: shows how quiet the machine was."""
    load: Load
    largest_mb: float = 0.0
    """Memory of the server's largest process, if it was measured."""

    @property
    def cpu_ms_per_1000_calls(self) -> float:
        made = sum(calls.calls for calls in self.load.calls.values()) + self.load.empty_receives
        return self.cpu_s * 1e6 / made if made else 0.0


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The memory that waiting messages take in a newly started server."""

    server: str
    repetition: int
    messages: int
    size: int
    command: str
    empty_mb: float
    filled_mb: float
    settled_mb: float
    """Ten seconds after the last message was sent."""
    fill_seconds: float
    restart_s: float | None = None
    """Time of a durable server from its restart, with its messages, until a receive first returned one."""
    restarted_mb: float | None = None


class Run(msgspec.Struct, kw_only=True):
    """A results file."""

    command: str
    started: str
    machine: dict[str, str]
    servers: dict[str, str]
    """Name → title and version."""
    scenarios: dict[str, str] = {}
    """Name → title."""
    samples: list[Sample] = []
    memory: list[Memory] = []


def machine() -> dict[str, str]:
    """Describes the machine it ran on."""
    model = [line for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = [line for line in _lines("/proc/meminfo") if line.startswith("MemTotal")]
    return {
        "cores": str(os.cpu_count()),
        "processor": model[0].partition(":")[2].strip() if model else platform.machine(),
        "memory": f"{int(memory[0].split()[1]) / 1e6:.0f} GB" if memory else "",
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": _commit(),
    }


def _commit() -> str:
    """Returns the commit of this tree; "" if it is not a Git tree."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    told = subprocess.run(asked, cwd=FOLDER, capture_output=True, text=True, check=False).stdout.strip()
    return f"commit {told}" if told else ""


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def save(run: Run, path: Path) -> None:
    """Replaces the file. Called repeatedly, so that an interrupted run keeps its results so far."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n")
    partial.replace(path)


def of_servers() -> list[Path]:
    """Returns the files of `benchmarks.plan` in the order they were written, the newest last."""
    others = ("hint", "spark-", "journal", "auth")
    found = [path for path in FOLDER.glob("*.json") if not path.name.startswith(others)]
    return sorted(found, key=lambda path: msgspec.json.decode(path.read_bytes(), type=Run).started)


def load(paths: Iterable[Path]) -> list[Run]:
    return [msgspec.json.decode(path.read_bytes(), type=Run) for path in paths]


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
