"""Shared by the commands that call a server: the endpoint, output formats and exit codes.

Exit codes: 0 success, 1 failure, 2 wrong usage, 3 no such queue or message, 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps

import click

from cqs.commands.client import CallFailed, Client, client_of

NOT_FOUND, INTERRUPTED = 3, 130


class Session:
    """A client and the chosen output format."""

    def __init__(self, client: Client, form: str) -> None:
        self.client = client
        self.is_json = form == "json"

    def show(self, value: object, titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Prints `value` as JSON, or the rows as a table."""
        if self.is_json:
            self.show_json(value)
        else:
            click.echo(table(titles, rows))

    def answer(self, value: object, text: object) -> None:
        """Prints `value` as JSON, or only `text`, its essential part."""
        if self.is_json:
            self.show_json(value)
        else:
            click.echo(text)

    def show_json(self, value: object) -> None:
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def server_command(function: Callable[..., None]) -> click.Command:
    """A command whose function gets a Session first. Its docstring is the help, and its options are declared below the
    decorator."""

    @click.option(
        "--endpoint", metavar="URL", help="URL of the server. [default: AWS_ENDPOINT_URL_SQS, or from the settings]"
    )
    @click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table")
    @wraps(function)
    def run(endpoint: str | None, form: str, **given: object) -> None:
        session = Session(client_of(endpoint), form)
        try:
            function(session, **given)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except CallFailed as error:
            if not error.is_not_found:
                raise
            click.echo(f"cqs: {error}", err=True)
            sys.exit(NOT_FOUND)
        finally:
            session.client.close()

    return click.command(run)


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns of minimal width. Numbers, and the titles of numeric columns, are right-aligned. Control characters are
    escaped."""
    found = [list(row) for row in rows]
    columns = [_column(title, [row[place] for row in found]) for place, title in enumerate(titles)]
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def _column(title: str, values: Sequence[object]) -> list[str]:
    """Title and cells, padded to one width."""
    is_right = [_is_number(value) for value in values]
    cells = [title, *map(shown, values)]
    width = max(map(len, cells))
    places = [bool(values) and all(is_right), *is_right]
    return [cell.rjust(width) if right else cell.ljust(width) for cell, right in zip(cells, places, strict=True)]


def pairs(parameter: str, given: Sequence[str]) -> dict[str, str]:
    """Parses NAME=VALUE options; a usage error names an invalid one."""
    for text in given:
        if "=" not in text or text.startswith("="):
            raise click.UsageError(f"{parameter}: {text!r} is not NAME=VALUE")
    return dict((text.partition("=")[0], text.partition("=")[2]) for text in given)


def confirmed(is_sure: bool, what: str) -> None:
    """Returns if the user has confirmed; otherwise raises a usage error, in scripts as well."""
    if not is_sure:
        raise click.UsageError(f"{what} can't be undone; say --yes")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def shown(value: object) -> str:
    """The value as text, in which everything that is not printable is an escape."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in str(value))
