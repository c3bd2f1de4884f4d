"""Scripts, styles and pictures of the pages, read once at start. A name that is not among them does not exist, whatever
its path looks like. Each address contains a digest of the file, so browsers may cache it forever."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import msgspec

STATIC = Path(__file__).parent / "static"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_DIGEST_LENGTH = 12


class Asset(msgspec.Struct, frozen=True):
    """One file, as it is sent."""

    content_type: str
    plain: bytes
    packed: bytes
    digest: str


class Assets:
    """By name below `static/`, such as "vendor/htmx.js"."""

    def __init__(self, folder: Path = STATIC) -> None:
        self._by_name = {
            path.relative_to(folder).as_posix(): _read(path)
            for path in sorted(folder.rglob("*"))
            if path.suffix in TYPES and path.is_file()
        }

    def get(self, name: str) -> Asset | None:
        return self._by_name.get(name)

    def address(self, name: str) -> str:
        """The path below `/static/`. Raises KeyError for a file that does not exist."""
        return f"{name}?{self._by_name[name].digest}"


def _read(path: Path) -> Asset:
    plain = path.read_bytes()
    digest = hashlib.sha256(plain).hexdigest()[:_DIGEST_LENGTH]
    return Asset(TYPES[path.suffix], plain, gzip.compress(plain, mtime=0), digest)
