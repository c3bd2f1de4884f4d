"""`cqs serve`: runs the server in the foreground until SIGTERM or Ctrl-C."""

from __future__ import annotations

import sys

import click

from cqs.commands.options import SettingsCommand, loaded_settings, with_settings

_EXAMPLES = """\b
Examples:
  cqs serve                                    durable, on 127.0.0.1:9324
  cqs serve --in-memory --port 0               for tests: a free port, nothing stored
  cqs serve --data-dir /var/lib/cqs --config /etc/cqs.toml
  CQS_PORT=9400 CQS_LOG_LEVEL=debug cqs serve  every flag is also an environment variable
  cqs serve --host 0.0.0.0 --auth signed       for other machines; first `cqs user add`, `cqs key add`

\b
Then, in another terminal:
  eval $(cqs env)
  aws sqs create-queue --queue-name orders     (AWS CLI 1: aws --endpoint-url $AWS_ENDPOINT_URL_SQS sqs ...)
"""


@click.command(cls=SettingsCommand, epilog=_EXAMPLES)
@with_settings
def command(**given: object) -> None:
    """Run the server until SIGTERM or Ctrl-C.

    Serves both protocols of Amazon SQS on one port and needs no other service. An acknowledged send or delete is on
    disk. By default any credentials are accepted, and an access key of twelve digits is the account id; see --auth.
    /health tells whether the process is alive, /ready whether it can serve requests.

    On SIGTERM the server answers waiting polls, finishes the requests in progress and exits with 0; a second SIGTERM
    ends it at once. Flags take precedence over CQS_* environment variables, these over the TOML file, and the file
    over the defaults: see `cqs config`.
    """
    loaded = loaded_settings(given)
    from cqs.server import run

    sys.exit(run(loaded))
