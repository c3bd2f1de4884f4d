"""Who hears what happens to messages, as the settings ask for it."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from cqs.clock import Clock
from cqs.config import Config
from cqs.journal import Journal, JournalRules


def journal_of(config: Config, clock: Clock) -> Journal | None:
    """The journal, not opened yet; None when it is off."""
    wanted = config.journaling
    if wanted.journal == "off":
        return None
    folder = Path(wanted.journal_dir) if wanted.journal_dir else Path(config.storage.data_dir) / "journal"
    rules = JournalRules(
        folder=folder.expanduser().absolute(),
        node=wanted.journal_node or socket.gethostname(),
        sample_every=wanted.journal_sample if wanted.journal == "sampled" else 1,
        file_bytes_max=wanted.journal_file_max,
        file_age_ms=wanted.journal_file_age_ms,
        disk_bytes_max=wanted.journal_max,
    )
    return Journal(rules, clock, random.Random())
