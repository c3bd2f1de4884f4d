"""The `cqs` command. Subcommands are in `cqs.commands`, one file each. Only the one that runs is imported, so that `cqs
--version` and shell completion respond at once.

Exit codes: 0 success, 1 failure, 2 wrong usage or setting, 3 no such queue or message, 130 interrupted. Errors are one
line on standard error.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

import click

from cqs import __version__
from cqs.errors import ConfigError, CqsError

_COMMANDS = {
    "serve": "Run the server.",
    "config": "Show every setting, its value and where it came from.",
    "doctor": "Check a configuration, this machine and the servers it names.",
    "env": "Print the environment variables that point AWS clients here.",
    "user": "Create and change users.",
    "key": "Create and change access keys.",
    "schema": "Create the tables in Cassandra.",
    "ls": "List queues.",
    "create": "Create a queue.",
    "send": "Send messages, from arguments or standard input.",
    "receive": "Receive messages.",
    "peek": "Show messages without receiving them.",
    "set": "Show or change the attributes and tags of a queue.",
    "resend": "Send copies of messages, to the same or another queue.",
    "change": "Delete, hide or reveal messages by id.",
    "delete": "Delete received messages, or a queue.",
    "redrive": "Move messages out of a dead-letter queue.",
    "purge": "Delete all messages of a queue.",
    "drain": "Drain a node before it is stopped.",
    "stats": "Show statistics of a server or a queue.",
    "metrics": "List all metrics.",
    "journal": "List, follow and prune the event journal.",
}


_INTERRUPTED = 130


class _Lazy(click.Group):
    """A group that imports each command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"cqs.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "--version", message="cqs %(version)s")
def cli() -> None:
    """CQS, a durable queue server compatible with Amazon SQS."""


def main() -> None:
    """The console script."""
    _have_standard_streams()
    try:
        sys.exit(cli.main(prog_name="cqs", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(_INTERRUPTED)
    except ConfigError as error:
        _fail(str(error), 2)
    except CqsError as error:
        _fail(str(error), 1)
    except OSError as error:
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        _fail(f"{error.filename or 'output'}: {error.strerror}", 1)


def _have_standard_streams() -> None:
    """Opens missing standard streams on /dev/null. Otherwise files opened later would get their descriptors."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def _fail(text: str, code: int) -> None:
    try:
        sys.stdout.flush()
    except OSError:  # otherwise Python 3.14 tries it again at its end, prints a traceback and returns 120
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    click.echo(f"cqs: {text}", err=True)
    sys.exit(code)
