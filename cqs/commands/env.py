"""`cqs env`: prints the exports that point AWS clients to this server."""

from __future__ import annotations

import shlex

import click

from cqs.commands.options import SettingsCommand, loaded_settings, with_settings
from cqs.listen import endpoint_of


@click.command(cls=SettingsCommand)
@with_settings
def command(**given: object) -> None:
    """Print the environment variables that point AWS clients here: `eval $(cqs env)`.

    Reads the same settings as `cqs serve`. AWS CLI 2 and all current SDKs read AWS_ENDPOINT_URL_SQS; AWS CLI 1 does
    not and needs `aws --endpoint-url $AWS_ENDPOINT_URL_SQS sqs ...`. Credentials are printed only with auth = open,
    where any will do.
    """
    config = loaded_settings(given).config
    listening = config.listening
    any_key = {"AWS_ACCESS_KEY_ID": config.behaviour.account, "AWS_SECRET_ACCESS_KEY": "any"}
    exports = {
        "AWS_ENDPOINT_URL_SQS": listening.public_url or endpoint_of(listening),
        **(any_key if config.security.auth == "open" else {}),
        "AWS_REGION": config.behaviour.region,
        "AWS_DEFAULT_REGION": config.behaviour.region,
    }
    for name, value in exports.items():
        click.echo(f"export {name}={shlex.quote(value)}")
