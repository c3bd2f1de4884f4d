"""The arguments that choose which store a command reconciles with."""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.connector import connector_settings
from spark_jobs.session import is_submitted
from spark_jobs.stored import database_of, in_sqlite
from spark_jobs.stored_cassandra import Keyspace, in_cassandra


def add_store_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds them, and the one that says whether all journals were given."""
    stores = parser.add_mutually_exclusive_group()
    stores.add_argument("--data-dir", default="", help="reconcile with the SQLite store in this data directory")
    stores.add_argument("--cassandra", metavar="HOST[:PORT]", help="reconcile with the Cassandra of a cluster")
    parser.add_argument(
        "--all-nodes",
        action="store_true",
        help="the journals of all nodes are named, so none can explain what is missing (implied by --data-dir)",
    )
    parser.add_argument("--keyspace", default="cqs", help="keyspace of the cluster (default: cqs)")
    parser.add_argument("--cassandra-user", default="", metavar="USER", help="user name for Cassandra")
    parser.add_argument("--cassandra-password-file", default="", metavar="FILE", help="file that contains the password")


def store_settings(options: argparse.Namespace) -> dict[str, str]:
    """Settings that the session needs for it from its start. Raises NoConnector."""
    return connector_settings() if options.cassandra and not is_submitted() else {}


def keyspace_of(options: argparse.Namespace) -> Keyspace:
    """The keyspace that the options name."""
    return Keyspace(options.cassandra, options.keyspace, options.cassandra_user, options.cassandra_password_file)


def refuse_unreadable(options: argparse.Namespace, *, is_running: bool = False) -> None:
    """What can be said before Spark has started, which takes a while: a database that is missing or in use, a Cassandra
    that nothing reaches. Raises NoStore, StoreInUse."""
    if options.cassandra:
        keyspace_of(options).refuse_unreachable()
    elif options.data_dir:
        database_of(options.data_dir, is_running=is_running)


def stored_of(
    spark: SparkSession, options: argparse.Namespace, data_dir: str, *, is_running: bool = False
) -> DataFrame | None:
    """What is stored; None when no store was named. `is_running`: servers may be using it. Raises NoStore,
    StoreInUse."""
    if options.cassandra:
        return in_cassandra(spark, keyspace_of(options))
    return in_sqlite(spark, data_dir, is_running=is_running) if data_dir else None
