"""`cqs doctor`: says what is wrong with a configuration, its servers and this machine, and what to do."""

from __future__ import annotations

import asyncio
import json
import sys

import click

from cqs.commands.options import SettingsCommand, loaded_settings, with_settings


@click.command(cls=SettingsCommand)
@with_settings
@click.option("-o", "--output", "form", type=click.Choice(["text", "json"]), default="text", help="json: for machines.")
def command(form: str, **given: object) -> None:
    """Check a configuration against the machine and the servers it names; nothing is changed.

    Takes the flags of `cqs serve`. Looks at the limit of open files, data folder, disk and certificate; at each Redis
    server (password, version, role, persistence, eviction, memory, clock); and at Cassandra (schema, copies, commit
    log, data centre, clocks). Exit code 1 when something is an error; warnings leave it 0.
    """
    loaded = loaded_settings(given)
    from cqs.clock import SystemClock
    from cqs.doctor.examine import examine
    from cqs.doctor.finding import as_json, as_text, is_well

    findings = asyncio.run(examine(loaded.config, SystemClock()))
    click.echo(json.dumps(as_json(findings), indent=2) if form == "json" else as_text(findings))
    sys.exit(0 if is_well(findings) else 1)
