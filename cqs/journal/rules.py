"""The journal's settings, as server and recorder both need them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class JournalRules:
    """How much is written, where, and how much is kept."""

    folder: Path
    node: str
    sample_every: int = 1
    """One message in this many is recorded; 1 = all."""
    file_bytes_max: int = 64_000_000
    file_age_ms: int = 600_000
    disk_bytes_max: int = 10_000_000_000
    buffer_bytes_max: int = 64_000_000

    def packed(self) -> str:
        """As text, for the recorder's command line."""
        return json.dumps(asdict(self) | {"folder": str(self.folder)})

    @staticmethod
    def unpacked(text: str) -> JournalRules:
        """The inverse of `packed`."""
        fields = json.loads(text)
        return JournalRules(**fields | {"folder": Path(fields["folder"])})
