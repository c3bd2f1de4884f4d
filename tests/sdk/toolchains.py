"""AWS SDKs of other languages, downloaded once by their package managers, and the environment that names a server.

npm   tests/sdk/clients/node/package-lock.json    build/node-clients
mvn   examples/java/pom.xml                       build/java-sdk
go    examples/go/go.mod, go.sum                  Go's own caches; also a newer Go if the installed one is too old
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
NODE = ROOT / "tests" / "sdk" / "clients" / "node"
GO = ROOT / "examples" / "go"
JAVA = ROOT / "examples" / "java"
JAVA_PROGRAM = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp")
"""Options for a quick start."""
FETCH_S_MAX = 200
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


class NotFetched(Exception):
    """A package manager or a compiler failed; the text has its error."""


def pointed_at(endpoint: str, access_key: str = "test", secret: str = "test") -> dict[str, str]:
    """Returns the environment for a program without server settings of its own, as after `eval $(cqs env)`."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
        "AWS_ENDPOINT_URL_SQS": endpoint,
        "AWS_ACCESS_KEY_ID": access_key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@cache
def node_folder() -> Path:
    """Returns the folder of the Node programs, next to their installed modules."""
    folder = BUILD / "node-clients"
    with _fetching(folder, NODE / "package-lock.json") as is_missing:
        shutil.copytree(NODE, folder, dirs_exist_ok=True)
        if is_missing:
            run(["npm", "ci", "--no-audit", "--no-fund"], folder)
    return folder


@cache
def java_class_path() -> str:
    """Returns the class path of the SDK's jars and their dependencies."""
    folder = BUILD / "java-sdk"
    with _fetching(folder, JAVA / "pom.xml") as is_missing:
        if is_missing:
            shutil.rmtree(folder / "jars", ignore_errors=True)
            run(["mvn", "-q", "-B", _GOAL, f"-DoutputDirectory={folder / 'jars'}"], JAVA)
    return f"{folder / 'jars'}/*"


@cache
def java_classes(sources: Path) -> str:
    """Compiles the `.java` files of a folder and returns their class path."""
    folder = BUILD / "java-classes" / "-".join(sources.relative_to(ROOT).parts)
    class_path = java_class_path()
    run(["javac", "-d", str(folder), "-cp", class_path, *map(str, sources.glob("*.java"))], folder)
    return f"{class_path}:{folder}"


@cache
def go_program(sources: Path) -> Path:
    """Builds the `.go` files of a folder with the SDK of examples/go and returns the program."""
    folder = BUILD / "go-clients" / "-".join(sources.relative_to(ROOT).parts)
    with _fetching(folder, GO / "go.sum"):
        for source in (*sources.glob("*.go"), GO / "go.mod", GO / "go.sum"):
            shutil.copy(source, folder)
        run([go_command(), "build", "-o", "program", "."], folder)
    return folder / "program"


@cache
def go_command() -> str:
    """Returns a Go as new as examples/go requires: the installed one, or one downloaded here as a module. Go 1.21 and
    later download it themselves (GOTOOLCHAIN) unless that is disabled; Debian's may be older."""
    wanted = next(line.split()[1] for line in (GO / "go.mod").read_text().splitlines() if line.startswith("go "))
    version, system, machine = run(["go", "env", "GOVERSION", "GOOS", "GOARCH"], BUILD).split()
    if _version(version) >= _version(wanted):
        return "go"
    module = f"golang.org/toolchain@v0.0.1-go{wanted}.0.{system}-{machine}"
    root = Path(json.loads(run(["go", "mod", "download", "-json", module], BUILD))["Dir"])
    for program in (*(root / "bin").iterdir(), *(root / "pkg" / "tool").rglob("*")):
        program.chmod(0o555)
    return str(root / "bin" / "go")


def run(command: Sequence[str], folder: Path) -> str:
    """Runs a command and returns its output. Raises NotFetched if it fails or takes longer than FETCH_S_MAX."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_S_MAX, check=False)
    except subprocess.TimeoutExpired as error:
        raise NotFetched(str(error)) from error
    if done.returncode:
        raise NotFetched(f"{' '.join(command)}: {(done.stdout + done.stderr).strip()[-2_000:]}")
    return done.stdout


@contextmanager
def _fetching(folder: Path, pins: Path) -> Iterator[bool]:
    """Locks the folder against other processes. Yields whether it does not contain exactly these versions yet."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = folder / ".fetched"
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not stamp.exists() or stamp.read_bytes() != pins.read_bytes()
        shutil.copyfile(pins, stamp)


def _version(text: str) -> tuple[int, ...]:
    """Parses "go1.26.8" or "1.24"."""
    return tuple(int(part) for part in text.strip().removeprefix("go").split(".")[:2])
