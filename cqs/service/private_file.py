"""Files of secrets: who may use them."""

from __future__ import annotations

import os
import stat


def is_private(status: os.stat_result) -> bool:
    """Only its owner may use it; or it is root's and a group may read it, as Kubernetes and systemd hand secrets to a
    server that is not root (PostgreSQL's rule for keys)."""
    shared = status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return not shared or (status.st_uid == 0 and shared == stat.S_IRGRP)
