"""Runs the load generator once on a running server, and reads the server's CPU clock at both ends of the window."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks import proc
from benchmarks.downloads import ROOT
from benchmarks.results import Load, Sample
from benchmarks.running import Running


class LoadFailed(Exception):
    """The load generator failed; the text is its error."""


class _Event(msgspec.Struct):
    event: str


@dataclass(frozen=True, slots=True)
class _Edge:
    at_s: float
    server: proc.Usage
    generator_cpu_s: float
    machine_cpu_s: float


@dataclass(frozen=True, slots=True)
class Window:
    """The result of a load, and the CPU and memory that the server used for it."""

    load: Load
    command: str
    cpu_s: float
    resident_mb: float
    other_cpu: float

    def sample(self, scenario: str, server: Running, repetition: int) -> Sample:
        """Returns it as a sample of a run."""
        return Sample(
            scenario=scenario,
            server=server.peer.name,
            repetition=repetition,
            command=self.command,
            cpu_s=self.cpu_s,
            resident_mb=self.resident_mb,
            other_cpu=self.other_cpu,
            load=self.load,
        )


def command_of(program: Path, server: Running, flags: Sequence[str]) -> list[str]:
    return [
        str(program),
        f"-endpoint={server.endpoint}",
        f"-protocol={server.peer.protocol}",
        *server.peer.load_flags,
        *flags,
    ]


def drive(program: Path, server: Running, flags: Sequence[str]) -> Window:
    """Raises LoadFailed if there is no result. A result may contain errors: check `load.errors`."""
    command = command_of(program, server, flags)
    edges: list[_Edge] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        last = b""
        try:
            for line in process.stdout:
                last = line
                if msgspec.json.decode(line, type=_Event).event != "result":
                    edges.append(_edge(server, process.pid))
            complaint = process.stderr.read().decode().strip()
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0 or len(edges) != 2:
        fate = "" if server.is_alive() else f"{server.peer.name} died; "
        raise LoadFailed(fate + (complaint or f"the load generator ended with {process.returncode}"))
    start, end = edges
    cpu_s = end.server.cpu_s - start.server.cpu_s
    own = end.generator_cpu_s - start.generator_cpu_s
    return Window(
        load=msgspec.json.decode(last, type=Load),
        command=shlex.join([_from_root(program), *command[1:]]),
        cpu_s=round(cpu_s, 3),
        resident_mb=round(end.server.resident_mb, 1),
        other_cpu=round((end.machine_cpu_s - start.machine_cpu_s - cpu_s - own) / (end.at_s - start.at_s), 3),
    )


def _from_root(program: Path) -> str:
    return str(program.relative_to(ROOT)) if program.is_relative_to(ROOT) else str(program)


def _edge(server: Running, generator_pid: int) -> _Edge:
    return _Edge(time.monotonic(), server.usage(), proc.usage([generator_pid]).cpu_s, proc.machine_cpu_s())
