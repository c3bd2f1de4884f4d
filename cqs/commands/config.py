"""`cqs config`: every setting, its value and its origin."""

from __future__ import annotations

import click

from cqs.commands.options import SettingsCommand, loaded_settings, with_settings
from cqs.config import report


@click.command(cls=SettingsCommand)
@with_settings
@click.option("-o", "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text",
              help="markdown: the reference, docs/configuration.md.")  # fmt: skip
def command(form: str, **given: object) -> None:
    """Show every setting, its value and where it came from; secrets are masked.

    Takes the flags of `cqs serve`, so you can check a command line before using it.
    """
    if form == "markdown":
        click.echo(report.as_markdown(), nl=False)
        return
    loaded = loaded_settings(given)
    click.echo(report.as_json(loaded) if form == "json" else report.as_text(loaded))
