"""Cassandra's jars, and their classes as a JVM holds them in memory.

    build/cassandra/lib-5.0.6/        100 jars, fetched once by `mvn dependency:copy-dependencies` (services/pom.xml)
    build/cassandra/classes-5.0.6     what a JVM wrote that was asked to (`deploy.cluster.ring.keep_classes`); optional

A JVM that maps this archive (class data sharing, JEP 350) need not read and verify 12,000 classes: a start takes
two thirds of the CPU. It ignores one of another Java or of other jars. It refuses folders on the class path, so the
configuration is passed by properties.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = (ROOT / "build" / "cassandra").resolve()
SERVICES = Path(__file__).parent / "services"

VERSION = "5.0.6"
CLASSES = CACHE / f"classes-{VERSION}"
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_SILENT = "-Xlog:cds*=off"


class CassandraFailed(Exception):
    """A node can't be installed or does not start; the text says why."""


def fetch() -> Path:
    """The folder with the server's jars, fetched if missing. Raises CassandraFailed."""
    folder = CACHE / f"lib-{VERSION}"
    if not folder.exists():
        print(f"fetching Cassandra {VERSION} by Maven ...", file=sys.stderr)
        CACHE.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix="lib-partial-", dir=CACHE))
        command = ["mvn", "-q", "-B", "-f", str(SERVICES / "pom.xml"), _GOAL]
        command += [f"-DoutputDirectory={partial}", f"-Dcassandra.version={VERSION}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CassandraFailed(f"mvn failed: {(done.stdout + done.stderr).strip()[-800:]}")
            with contextlib.suppress(OSError):
                partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def class_path() -> str:
    """The jars, always in the same order. Raises CassandraFailed."""
    return ":".join(sorted(map(str, fetch().glob("*.jar"))))


def mapped_classes() -> list[str]:
    """Options of a JVM that maps the archive, if there is one."""
    return [f"-XX:SharedArchiveFile={CLASSES}", _SILENT] if CLASSES.exists() else []


def written_classes(path: Path) -> list[str]:
    """Options of a JVM that writes such an archive when it ends."""
    return [f"-XX:ArchiveClassesAtExit={path}", _SILENT]


def place_classes(path: Path) -> None:
    """Puts what a JVM wrote in its place. Atomic. Raises CassandraFailed."""
    try:
        path.rename(CLASSES)
    except FileNotFoundError:
        raise CassandraFailed("Java wrote no archive of Cassandra's classes: it has no class data sharing.") from None
