"""A worker's place among the processes of one server: its number, and how it reports that it serves."""

from __future__ import annotations

import json
import os
import signal
import socket
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cqs.banner import Start
from cqs.config import Config, Loaded


@dataclass(frozen=True, slots=True)
class Slot:
    """`number` counts from 1. `folder` is shared by all workers and exists as long as their parent; `ready` is the
    write end of a pipe to the parent, `parent` its pid."""

    number: int
    folder: Path
    ready: int
    parent: int

    def settings(self, loaded: Loaded[Config]) -> Loaded[Config]:
        """The server's settings with this worker's own names for its journal and its node."""
        config, machine = loaded.config, socket.gethostname()
        writer = config.journaling.journal_node or machine
        node = config.clustering.node_name or f"{machine}:{config.listening.port or os.getppid()}"
        journaling = replace(config.journaling, journal_node=f"{writer}-{self.number}")
        clustering = replace(config.clustering, node_name=f"{node}-{self.number}")
        return replace(loaded, config=replace(config, journaling=journaling, clustering=clustering))

    def tell(self, start: Start) -> None:
        """Tells the parent that this worker accepts connections."""
        os.write(self.ready, json.dumps(asdict(start)).encode() + b"\n")
        os.close(self.ready)
        if os.getppid() == self.parent:
            os.kill(self.parent, signal.SIGUSR1)
