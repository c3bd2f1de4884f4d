"""Files with secrets: checking who may read them, and creating them."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from cqs import folders


def is_private(status: os.stat_result) -> bool:
    """Whether only its owner can access it, or it belongs to root and a group may read it, which is how Kubernetes and
    systemd pass secrets to a server that does not run as root (PostgreSQL's rule for keys)."""
    shared = status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return not shared or (status.st_uid == 0 and shared == stat.S_IRGRP)


def make_private_file(path: Path, content: bytes) -> None:
    """Creates the file atomically and durably: whole or not at all, even if this process is killed. An existing file is
    kept. Raises OSError."""
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
