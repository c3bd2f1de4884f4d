"""The jars with which Spark reads Cassandra: spark-cassandra-connector and its dependencies, fetched once by Maven.

    FOLDER/spark-cassandra-connector-3.5.1/     16 jars, 17 MB (spark_jobs/connector.xml)

A session needs them from its start (`spark.jars`). With `spark-submit`, pass PACKAGE to `--packages` instead. The jars
of Scala and SLF4J are excluded: Spark brings its own, and two versions conflict.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from spark_jobs.errors import JobError

VERSION = "3.5.1"
PACKAGE = f"com.datastax.spark:spark-cassandra-connector_2.13:{VERSION}"
FOLDER = "build"
FETCH_S_MAX = 600
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_LEFT_OUT = "scala-library,scala-reflect,slf4j-api,spark-cassandra-connector-test-support_2.13"
_POM = Path(__file__).with_name("connector.xml")


class NoConnector(JobError):
    """The jars are not available."""


def connector_settings(folder: str = FOLDER) -> dict[str, str]:
    """The setting that adds the jars to a session; fetches them to a folder below `folder` if missing. Raises
    NoConnector."""
    return {"spark.jars": ",".join(str(jar) for jar in sorted(fetch_jars(Path(folder)).glob("*.jar")))}


def fetch_jars(below: Path) -> Path:
    """The folder with the jars. It appears complete or not at all: concurrent fetches do not interfere."""
    folder = below.absolute() / f"spark-cassandra-connector-{VERSION}"
    if folder.is_dir():
        return folder
    if shutil.which("mvn") is None:
        raise NoConnector(
            f"Reading Cassandra needs {PACKAGE}: install maven, which fetches it, or use spark-submit --packages."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="connector-partial-", dir=folder.parent))
    try:
        _fetch(partial)
        with suppress(OSError):
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _fetch(folder: Path) -> None:
    command = ["mvn", "-q", "-B", "-f", str(_POM), _GOAL, f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
    command += [f"-Dconnector.version={VERSION}", f"-DexcludeArtifactIds={_LEFT_OUT}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=FETCH_S_MAX)
    except subprocess.TimeoutExpired as error:
        raise NoConnector(f"Maven did not fetch {PACKAGE} within {FETCH_S_MAX} s.") from error
    if done.returncode:
        raise NoConnector(f"Maven could not fetch {PACKAGE}: {(done.stdout + done.stderr).strip()[-400:]}")
