"""External programs of the benchmarks, downloaded once by the ordinary package clients and kept in build/peers.

Folder names contain the version, so a new version gets a new folder. A folder is created under a temporary name and
renamed when it is complete.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / "build" / "peers"

ELASTICMQ_VERSION = "1.7.1"
GOAWS_VERSION = "0.4.5"
MOTO_VERSION = "5.2.5"

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>benchmarks</groupId>
  <artifactId>elasticmq-class-path</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.elasticmq</groupId>
      <artifactId>elasticmq-server_3</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


class NotAvailable(Exception):
    """A peer can't be installed here; the text says why."""


def elasticmq_class_path() -> str:
    """Returns the class path of ElasticMQ's jars, from Maven."""

    def fetch(folder: Path) -> None:
        (folder / "pom.xml").write_text(_POM.format(version=ELASTICMQ_VERSION))
        goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
        _call(folder, "mvn", "--batch-mode", "--quiet", goal, f"-DoutputDirectory={folder / 'lib'}")

    return str(_kept(f"elasticmq-{ELASTICMQ_VERSION}", fetch) / "lib" / "*")


def goaws_program() -> Path:
    """Returns the goaws program, built from its Go module."""

    def fetch(folder: Path) -> None:
        module = f"github.com/Admiral-Piett/goaws/app/cmd@v{GOAWS_VERSION}"
        _call(folder, "go", "install", module, GOBIN=str(folder))

    return _kept(f"goaws-{GOAWS_VERSION}", fetch) / "cmd"


def moto_python() -> Path:
    """Returns the Python interpreter of an environment with moto's server."""

    def fetch(folder: Path) -> None:
        _call(folder, sys.executable, "-m", "venv", str(folder / "env"))
        pip = [str(folder / "env" / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _call(folder, *pip, f"moto[server]=={MOTO_VERSION}")

    return _kept(f"moto-{MOTO_VERSION}", fetch) / "env" / "bin" / "python"


def load_generator() -> Path:
    """Returns the load generator, built from benchmarks/load if its sources have changed: its name has their digest."""
    source = ROOT / "benchmarks" / "load"
    texts = [path.name.encode() + path.read_bytes() for path in sorted(source.iterdir())]
    program = CACHE / f"load-{hashlib.sha256(b''.join(texts)).hexdigest()[:8]}"
    if not program.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        _call(source, "go", "build", "-o", str(program), ".")
    return program


def _kept(name: str, fetch: Callable[[Path], None]) -> Path:
    folder = CACHE / name
    if not folder.exists():
        print(f"fetching {name} ...", file=sys.stderr)
        partial = CACHE / f"{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        fetch(partial)
        partial.rename(folder)
    return folder


def _call(folder: Path, program: str, *arguments: str, **environment: str) -> None:
    if shutil.which(program) is None:
        raise NotAvailable(f"{program} is not installed")
    done = subprocess.run(
        [program, *arguments], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise NotAvailable(f"{program} failed: {(done.stderr or done.stdout).strip()[-500:]}")
