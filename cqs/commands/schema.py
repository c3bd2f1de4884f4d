"""`cqs schema`: the tables of a Cassandra cluster. An operator makes them once; servers only check them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from cqs.errors import ConfigError

_PORT = 9042


@click.group()
def command() -> None:
    """The tables that a cluster keeps in Cassandra."""


@command.command()
@click.option("--cassandra", "hosts", metavar="HOST[:PORT]", multiple=True, default=("127.0.0.1",), show_default=True,
              envvar="CQS_CASSANDRA", help="A node of the cluster; may be given several times.")  # fmt: skip
@click.option("--keyspace", default="cqs", show_default=True, envvar="CQS_KEYSPACE", help="Where the tables go.")
@click.option("--replicas", metavar="DC=N", multiple=True,
              help="Copies in each data centre, such as dc1=3. Default: one in the first.")  # fmt: skip
@click.option("--cassandra-user", "user", default="", envvar="CQS_CASSANDRA_USER", help="Who may make tables.")
@click.option("--cassandra-password-file", "password_file", metavar="FILE", default="", help="Holds the password.")
def apply(hosts: tuple[str, ...], keyspace: str, replicas: tuple[str, ...], user: str, password_file: str) -> None:
    """Make the keyspace and its tables, as far as they are missing.

    Run it once for a cluster, from one machine. Running it again changes nothing.
    """
    try:
        from cqs.store.cassandra import Options, schema
    except ImportError as error:
        raise ConfigError(f"Cassandra needs another package: pip install 'cqs-server[cassandra]' ({error})") from error

    names, port = _hosts_of(hosts)
    password = Path(password_file).read_text().strip() if password_file else ""
    options = Options(hosts=names, port=port, keyspace=keyspace, user=user, password=password)
    is_new = asyncio.run(schema.apply(options, _replicas_of(replicas)))
    done = "made" if is_new else "already in place"
    click.echo(f"Keyspace {keyspace} at {options.place}: schema version {schema.VERSION} {done}.")


@command.command()
def show() -> None:
    """Print the CQL, with what each table is for."""
    from importlib import resources

    click.echo(resources.files("cqs.store").joinpath("cassandra", "schema.cql").read_text(), nl=False)


def _hosts_of(texts: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    names: list[str] = []
    ports: set[int] = set()
    for text in [one.strip() for group in texts for one in group.split(",")]:
        name, _, port = text.partition(":")
        if not name or (port and not port.isdigit()):
            raise ConfigError(f"--cassandra: {text!r} is no HOST[:PORT]")
        names.append(name)
        ports.add(int(port or _PORT))
    if len(ports) > 1:
        raise ConfigError("--cassandra: all nodes of a cluster have one port")
    return tuple(names), ports.pop()


def _replicas_of(texts: tuple[str, ...]) -> dict[str, int]:
    replicas: dict[str, int] = {}
    for text in texts:
        datacenter, _, count = text.partition("=")
        if not datacenter or not count.isdigit() or not 1 <= int(count) <= 9:
            raise ConfigError(f"--replicas: {text!r} is no DC=N with N from 1 to 9")
        replicas[datacenter] = int(count)
    return replicas
