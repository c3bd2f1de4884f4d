"""The Lua scripts, one per action, and how they are assembled: a line `-- include: a b` is replaced by the texts of
`a.lua` and `b.lua`, so that they share its scope; `common.lua` explains the rest."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from cqs.cache.redis.script import Script

NAMES = (
    "state", "begin_fill", "fill", "drop",
    "put", "take", "hide", "fence", "give_back", "remove",
    "reveal", "redelay", "vesting", "next_vesting", "ring",
    "scan", "browse", "lookup", "survey",
)  # fmt: skip
"""The actions; the other files are included by them."""
_INCLUDE = re.compile(r"^ *-- include: (.+)$", re.MULTILINE)


@cache
def load(name: str) -> Script:
    """The script with this name, ready to run."""
    assert name in NAMES
    return Script(_text(name))


def all_scripts() -> list[Script]:
    """Every script, to be loaded into a server in advance."""
    return [load(name) for name in NAMES]


def _text(name: str) -> str:
    text = (files(__package__) / f"{name}.lua").read_text()
    return _INCLUDE.sub(lambda found: "\n".join(map(_text, found[1].split())), text)
