"""Which Java Cassandra can run on. It installs a security manager, which Java 18 to 23 allow only by an option
(`services/jvm.options`), and Java 24 and later not at all; it is tested on 17 and 21."""

from __future__ import annotations

import re
import subprocess

_RUNS = range(17, 24)


def advice() -> str:
    """Returns a sentence if the `java` on the PATH is too old or too new for Cassandra, otherwise nothing."""
    try:
        told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return ""
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    if found is None or int(found[1]) in _RUNS:
        return ""
    return f"Cassandra needs Java 17 or 21, and `java` is Java {found[1]}. "
