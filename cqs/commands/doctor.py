"""`cqs doctor`: reports what is wrong with a configuration, its servers and this machine, and what to do about it."""

from __future__ import annotations

import asyncio
import json
import sys

import click

from cqs.commands.options import SettingsCommand, loaded_settings, with_settings


@click.command(cls=SettingsCommand)
@with_settings
@click.option("-o", "--output", "form", type=click.Choice(["text", "json"]), default="text", help="Output format.")
def command(form: str, **given: object) -> None:
    """Check a configuration, this machine and the servers it names. Changes nothing.

    Takes the flags of `cqs serve`. Checks whether a server with these settings would start (address, workers, users,
    declared queues); the open-file limit, data directory, journal, disk and certificate; each Redis server (password,
    version, role, persistence, eviction, memory, clock); and Cassandra (schema, replication, commit log, data centre,
    clocks). Exits with 1 on errors, and with 0 if there are only warnings.
    """
    loaded = loaded_settings(given)
    from cqs.clock import SystemClock
    from cqs.doctor.examine import examine
    from cqs.doctor.finding import as_json, as_text, is_well

    findings = asyncio.run(examine(loaded, SystemClock()))
    click.echo(json.dumps(as_json(findings), indent=2) if form == "json" else as_text(findings))
    sys.exit(0 if is_well(findings) else 1)
