"""What is wrong with the place where the data lie, for /ready."""

from __future__ import annotations

import os
from pathlib import Path

from cqs.store.sqlite.failures import full_text, gone_text
from cqs.store.sqlite.hands import WriterState

FREE_BYTES_MIN = 1 << 20


def trouble(file: Path, writer: WriterState) -> tuple[str, bool]:
    """In words, "" = nothing; and whether nothing at all can be written. Without space deletes go on."""
    if writer.is_gone():
        return gone_text(file), True
    status = os.statvfs(file.parent)
    if writer.is_ballast_spent or status.f_bavail * status.f_frsize < FREE_BYTES_MIN:
        return full_text(file).replace("Nothing was written.", "Sends are refused, deletes go on."), False
    return "", False
