"""The Lua scripts, one per action, and how one is put together: a line `-- include: a b` is replaced by the texts of
`a.lua` and `b.lua`, in place, so that they share its scope; `common.lua` tells the rest."""

from __future__ import annotations

import re
from importlib.resources import files

from cqs.cache.redis.connection import Script

_INCLUDE = re.compile(r"^ *-- include: (.+)$", re.MULTILINE)


def load(name: str) -> Script:
    """The script of this name, ready to run."""
    return Script(_text(name))


def _text(name: str) -> str:
    text = (files(__package__) / f"{name}.lua").read_text()
    return _INCLUDE.sub(lambda found: "\n".join(map(_text, found[1].split())), text)
