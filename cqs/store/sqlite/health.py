"""Problems with the store's disk or files, for /ready."""

from __future__ import annotations

import os
from pathlib import Path

from cqs.store.sqlite.failures import full_text, gone_text
from cqs.store.sqlite.hands import Hands

FREE_BYTES_MIN = 1 << 20
STUCK_S = 10.0
"""No commit and no read takes this long, unless the disk or the writer hangs."""


def trouble(file: Path, hands: Hands) -> tuple[str, bool]:
    """The problem in words, "" = none; and whether writing is impossible altogether. Without space, deletes still
    work."""
    writer = hands.writer
    if writer.is_gone():
        return gone_text(file), True
    busy_s = max(hands.commits.busy_s, hands.reads.busy_s)
    if busy_s > STUCK_S:
        return f"{file} has not answered for {busy_s:.0f} s: its disk or its writer hangs. Calls wait for it.", True
    status = os.statvfs(file.parent)
    if writer.is_ballast_spent or status.f_bavail * status.f_frsize < FREE_BYTES_MIN:
        return full_text(file).replace("Nothing was written.", "Sends are refused, deletes still work."), False
    if writer.failing:
        return f"The last write failed. {writer.failing}", False
    return "", False
