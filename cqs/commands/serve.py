"""`cqs serve`: runs the server in the foreground until SIGTERM or Ctrl-C."""

from __future__ import annotations

import sys

import click

from cqs.commands.options import SettingsCommand, loaded_settings, with_settings

_EXAMPLES = """\b
Examples:
  cqs serve                                    durable, on 127.0.0.1:9324
  cqs serve --in-memory --port 0               for a test run: a free port, nothing kept
  cqs serve --data-dir /var/lib/cqs --config /etc/cqs.toml
  CQS_PORT=9400 CQS_LOG_LEVEL=debug cqs serve  every flag is a variable, too
  cqs serve --host 0.0.0.0 --auth signed       for others: first `cqs user add`, `cqs key add`

\b
Then, in another terminal:
  eval $(cqs env)
  aws sqs create-queue --queue-name orders     (AWS CLI 1: aws --endpoint-url $AWS_ENDPOINT_URL_SQS sqs ...)
"""


@click.command(cls=SettingsCommand, epilog=_EXAMPLES)
@with_settings
def command(**given: object) -> None:
    """Run the server until SIGTERM or Ctrl-C.

    It speaks both protocols of Amazon SQS on one port and needs no other service. A send or delete that was answered
    is on disk. Any access key is accepted, and one of twelve digits names the account, unless --auth says that
    requests must be signed. /health says that the server lives, /ready that it serves.

    SIGTERM answers waiting polls, finishes what was accepted and exits 0; a second one ends the server at once.
    Flags beat CQS_* environment variables, which beat the file, which beats the defaults: see `cqs config`.
    """
    loaded = loaded_settings(given)
    from cqs.server import run

    sys.exit(run(loaded))
