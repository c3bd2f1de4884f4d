"""Files of secrets: who may use them, and how one is made."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from cqs import folders


def is_private(status: os.stat_result) -> bool:
    """Only its owner may use it; or it is root's and a group may read it, as Kubernetes and systemd hand secrets to a
    server that is not root (PostgreSQL's rule for keys)."""
    shared = status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return not shared or (status.st_uid == 0 and shared == stat.S_IRGRP)


def make_private_file(path: Path, content: bytes) -> None:
    """Durable and whole, or not at all, whatever ends this process; one that is there by then stays. Raises OSError."""
    descriptor, part = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(part, path)
    finally:
        os.unlink(part)
    folders.sync(path.parent)
