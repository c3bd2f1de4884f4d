"""What is stored in a cluster's keyspace, as the same rows that `spark_jobs.stored` returns for SQLite: address, uid,
generation, md5.

    messages (token ranges, one Spark task each) ─► address, md5 of the body ─┬─► rows of living queues
    queues (the catalogue) ───────────────────────────────────────────────────┘

Read at LOCAL_QUORUM, like the servers do: a replica that lags would show a loss where there is none. No message may be
sent or deleted in the meantime: it would look like an orphan, or lost. The connector has to be among the session's jars
(`spark_jobs.connector`).
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from cqs.hosts import hosts_of
from spark_jobs.connector import PACKAGE
from spark_jobs.stored import GENERATION_BITS, NoStore

PORT = 9042
_CONNECT_S_MAX = 20.0
_FORMAT = "org.apache.spark.sql.cassandra"
_INCARNATION_BITS = 50
_VARIANT = 2 << 62
"""The two bits of a UUID that encode its variant."""


@dataclass(frozen=True, slots=True)
class Keyspace:
    """Where a cluster stores its messages. `place`: HOST[:PORT], several separated by commas, with one port for all."""

    place: str
    name: str = "cqs"
    user: str = ""
    password_file: str = ""

    @property
    def hosts_and_port(self) -> tuple[tuple[str, ...], int]:
        """Raises NoStore; also for an IPv6 address, which Spark's connector does not read."""
        try:
            hosts, port = hosts_of(self.place)
        except ValueError as error:
            raise NoStore(f"--cassandra: {error}.") from error
        for host in hosts:
            if ":" in host:
                raise NoStore(f"--cassandra: Spark's connector does not read the IPv6 address {host}: give a name.")
        return hosts, port or PORT

    @property
    def options(self) -> dict[str, str]:
        """The connector's options. Raises NoStore."""
        hosts, port = self.hosts_and_port
        asked = {
            "spark.cassandra.connection.host": ",".join(hosts),
            "spark.cassandra.connection.port": str(port),
            "spark.cassandra.input.consistency.level": "LOCAL_QUORUM",
        }
        if self.user:
            asked |= {"spark.cassandra.auth.username": self.user, "spark.cassandra.auth.password": self._password()}
        return asked

    def refuse_unreachable(self) -> None:
        """Raises NoStore if none of the hosts takes a connection, or the options are wrong."""
        failed: list[str] = []
        (hosts, port), _ = self.hosts_and_port, self.options
        for host in hosts:
            try:
                socket.create_connection((host, port), _CONNECT_S_MAX).close()
            except (OSError, OverflowError, UnicodeError) as error:
                failed.append(f"{host}: {getattr(error, 'strerror', None) or error}")
            else:
                return
        raise NoStore(f"Cassandra can't be reached at {self.place} ({', '.join(failed)}): --cassandra names its nodes.")

    def _password(self) -> str:
        try:
            return Path(self.password_file).read_text().strip() if self.password_file else ""
        except OSError as error:
            raise NoStore(
                f"The password of Cassandra can't be read from {self.password_file}: {error.strerror}."
            ) from error


def in_cassandra(spark: SparkSession, keyspace: Keyspace) -> DataFrame:
    """All messages of the keyspace, except those of purged or deleted queues, which are only waiting to be swept.
    Raises NoStore."""
    messages = _table(spark, keyspace, "messages").select("queue_id", "row", "at", "incarnation", "body")
    living = _table(spark, keyspace, "queues").select("uid", F.col("generation").cast("long").alias("generation"))
    rows = messages.select(
        address_text(F.col("at"), F.col("row"), F.col("incarnation")).alias("address"),
        F.shiftright("queue_id", GENERATION_BITS).alias("uid"),
        F.col("queue_id").bitwiseAND(F.lit((1 << GENERATION_BITS) - 1)).alias("generation"),
        F.md5("body").alias("md5"),
    )
    return rows.join(F.broadcast(living), ["uid", "generation"], "left_semi")


def address_text(at: Column, row: Column, incarnation: Column) -> Column:
    """`cqs.ids.text_of` of a row's columns, computed in the JVM."""
    low = (
        F.lit(_VARIANT - (1 << 64))
        .bitwiseOR(F.shiftleft(at.bitwiseAND(F.lit(3)), 60))
        .bitwiseOR(F.shiftleft(row.cast("long"), _INCARNATION_BITS))
        .bitwiseOR(incarnation)
    )
    time, counter, tail = (
        _hex(F.shiftright(at, 14), 12),
        _hex(F.shiftright(at, 2).bitwiseAND(F.lit(0xFFF)), 3),
        _hex(low, 16),
    )
    parts = [F.substring(time, 1, 8), F.substring(time, 9, 4), F.concat(F.lit("8"), counter)]
    return F.concat_ws("-", *parts, F.substring(tail, 1, 4), F.substring(tail, 5, 12))


def _hex(number: Column, digits: int) -> Column:
    return F.lower(F.lpad(F.hex(number), digits, "0"))


def _table(spark: SparkSession, keyspace: Keyspace, name: str) -> DataFrame:
    reader = spark.read.format(_FORMAT).options(keyspace=keyspace.name, table=name, **keyspace.options)
    try:
        return reader.load()
    except (Py4JJavaError, PySparkException) as error:
        raise NoStore(_why(keyspace, str(error))) from error


def _why(keyspace: Keyspace, text: str) -> str:
    """One sentence. (Spark 4 no longer has the connector's own exception for a missing keyspace.)"""
    if "DATA_SOURCE_NOT_FOUND" in text:
        return f"This session can't read Cassandra: give it {PACKAGE} by --packages."
    if "NoSuchNamespace" in text or "NoSuchTable" in text:
        return f"Keyspace {keyspace.name} at {keyspace.place} has no CQS tables: was `cqs schema apply` run there?"
    lines = text.strip().splitlines()
    cause = next((line.lstrip(": ") for line in lines if line.startswith(": ")), lines[0] if lines else "no answer")
    return f"Cassandra at {keyspace.place} can't be read: {cause[:300]}"
