"""`cqs metrics`: lists every metric of a server."""

from __future__ import annotations

import click

from cqs.metrics import reference


@click.command()
@click.option("-o", "--format", "form", type=click.Choice(["text", "markdown"]), default="text",
              help="markdown: the reference, docs/metrics.md.")  # fmt: skip
def command(form: str) -> None:
    """List all metrics of /metrics and /jmx."""
    click.echo(reference.as_markdown() if form == "markdown" else reference.as_text(), nl=False)
