"""`cqs schema`: manages the tables of a Cassandra cluster. An operator creates them once; servers only check them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import click

from cqs.commands.options import loaded_settings
from cqs.errors import ConfigError
from cqs.hosts import hosts_of

_HERE = ("127.0.0.1",)


@click.group()
def command() -> None:
    """The tables of a cluster in Cassandra."""


@command.command()
@click.option("--config", "config_path", metavar="FILE", help="TOML file with settings; also CQS_CONFIG.")
@click.option(
    "--cassandra",
    "hosts",
    metavar="HOST[:PORT]",
    multiple=True,
    help="A node of the cluster; may be given several times. [default: from the settings, else 127.0.0.1]",
)
@click.option("--keyspace", help="Keyspace of the tables. [default: from the settings]")
@click.option(
    "--replicas",
    metavar="DC=N",
    multiple=True,
    help="Copies in each data centre, such as dc1=3. [default: one, in the first data centre]",
)
@click.option("--cassandra-user", "user", help="User who may create tables. [default: from the settings]")
@click.option("--cassandra-password-file", "password_file", metavar="FILE", help="File that contains the password.")
def apply(
    config_path: str | None,
    hosts: tuple[str, ...],
    keyspace: str | None,
    replicas: tuple[str, ...],
    user: str | None,
    password_file: str | None,
) -> None:
    """Create the keyspace and the tables that are missing, and update those of an earlier version.

    Run it once per cluster, from one machine, and again before an upgrade; if the schema is in place, it changes
    nothing. Reads the same settings as `cqs serve`, such as CQS_CASSANDRA, CQS_CASSANDRA_KEYSPACE and
    CQS_CASSANDRA_PASSWORD_FILE.
    """
    from cqs.backends import cassandra_options

    names, port = _hosts_of(hosts)
    wanted = loaded_settings(
        {
            "config_path": config_path,
            "cassandra": names,
            "cassandra_port": port,
            "cassandra_keyspace": keyspace,
            "cassandra_user": user,
            "cassandra_password_file": password_file,
        }
    ).config.backends
    copies = _replicas_of(replicas)
    options = replace(cassandra_options(wanted), hosts=wanted.cassandra or _HERE, datacenter="", is_each=False)
    from cqs.store.cassandra import schema

    done = asyncio.run(schema.apply(options, copies))
    click.echo(f"Keyspace {options.keyspace} at {options.place}: schema version {schema.VERSION} {done}.")


@command.command()
def show() -> None:
    """Print the CQL, with the purpose of each table."""
    from importlib import resources

    click.echo(resources.files("cqs.store").joinpath("cassandra", "schema.cql").read_text(), nl=False)


def _hosts_of(texts: tuple[str, ...]) -> tuple[tuple[str, ...], int | None]:
    """The hosts, and their port if one is given."""
    if not texts:
        return (), None
    try:
        return hosts_of(",".join(texts))
    except ValueError as error:
        raise ConfigError(f"--cassandra: {error}") from error


def _replicas_of(texts: tuple[str, ...]) -> dict[str, int]:
    replicas: dict[str, int] = {}
    for text in texts:
        datacenter, _, count = text.partition("=")
        if not datacenter or not count.isdigit() or not 1 <= int(count) <= 9:
            raise ConfigError(f"--replicas: {text!r} is not DC=N with N from 1 to 9")
        replicas[datacenter] = int(count)
    return replicas
