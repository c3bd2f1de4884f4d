"""Compiled templates on disk, as Python keeps compiled modules: only the first server compiles them, which is about
half of the CPU of its start. One file for each template and Python version:

    __pycache__/queue.html.cpython-311     digest of what it was compiled from ─ code (marshal)

What is read is trusted as much as the modules beside it. No filter runs while a template is compiled, since none is
applied to a constant (`tests/console/test_kept_pages.py`): the code depends on nothing else than the digest covers.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import tempfile
from hashlib import sha256
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

_DIGEST_BYTES = sha256().digest_size
_MODE = 0o644
"""Servers of other users may read what one wrote."""


class KeptPages(BytecodeCache):
    """Compiled templates in `folder`, which is created when there is one to keep. Where files can't be written, as in a
    container with a read-only root, or must not be (`PYTHONDONTWRITEBYTECODE`), nothing is kept. `of`: what else than
    its text a template is compiled from. Thread-safe; several processes may use one folder."""

    def __init__(self, folder: Path, of: bytes) -> None:
        self._folder = folder
        self._of = b" ".join((MAGIC_NUMBER, jinja2.__version__.encode(), of))

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The name of its file."""
        return f"{name.replace('/', '.')}.{sys.implementation.cache_tag}"

    def get_source_checksum(self, source: str) -> str:
        """The digest of all it is compiled from, in hex."""
        return sha256(self._of + source.encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Leaves the bucket empty if nothing is kept, or what is kept is of another text or version."""
        with contextlib.suppress(OSError, EOFError, ValueError, TypeError):
            kept = (self._folder / bucket.key).read_bytes()
            if kept[:_DIGEST_BYTES].hex() == bucket.checksum:
                bucket.code = marshal.loads(kept[_DIGEST_BYTES:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keeps it, unless the folder can't be written. Atomic."""
        if sys.dont_write_bytecode or bucket.code is None:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            number, path = tempfile.mkstemp(dir=self._folder)
            try:
                with open(number, "wb") as file:
                    os.fchmod(number, _MODE)
                    file.write(bytes.fromhex(bucket.checksum) + marshal.dumps(bucket.code))
                os.replace(path, self._folder / bucket.key)
            except BaseException:
                os.unlink(path)
                raise
