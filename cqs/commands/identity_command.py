"""Shared by `cqs user` and `cqs key`, which work directly on the store.

    settings ─► data folder, locked as a server locks it ─► one change ─► shown as a table or JSON
                └ in use: error that names the server's console
             ─► Cassandra, beside its servers, which see the change within seconds

Exit codes: 0 success, 1 refused, 2 wrong usage or setting, 3 no such user or key.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any

import click

from cqs.clock import SystemClock
from cqs.commands.options import loaded_settings
from cqs.commands.server_command import NOT_FOUND, table
from cqs.config import Config
from cqs.errors import CannotStart, DataInUse, NoSuchIdentity
from cqs.listen import endpoint_of
from cqs.service.accounts import Accounts
from cqs.store.sqlite.schema import FILE_NAME

Change = Callable[..., Awaitable[None]]


class Desk:
    """What a command works with: the accounts, the settings and the output format."""

    def __init__(self, accounts: Accounts, config: Config, form: str) -> None:
        self.accounts = accounts
        self.config = config
        self.is_json = form == "json"

    def show(self, value: object, titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Prints `value` as JSON, or the rows as a table."""
        click.echo(json.dumps(value, indent=2) if self.is_json else table(titles, rows))

    def tell(self, value: object, text: str) -> None:
        """Prints `value` as JSON, or the text."""
        click.echo(json.dumps(value, indent=2) if self.is_json else text)


def cells(shown: Mapping[str, object]) -> list[object]:
    """The cells of a table row."""
    return [_cell(value) for value in shown.values()]


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (",".join(value) or "-") if isinstance(value, list) else value


def moment(at_ms: int) -> str:
    """ISO 8601 to the second, in UTC."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="seconds")


def identity_command(
    group: click.Group, name: str, help_text: str, *, is_first: bool = False
) -> Callable[[Change], click.Command]:
    """A decorator for a command of the group whose function gets a Desk first. Its options are declared above it as
    usual. `is_first`: it creates the data directory if there is none yet; without, that is refused."""

    def made(function: Change) -> click.Command:
        @click.option("--data-dir", metavar="FOLDER", help="Data directory of the server. [default: from the settings]")
        @click.option("--config", "config_path", metavar="FILE", help="TOML file with settings; also CQS_CONFIG.")
        @click.option(
            "--master-key-file", metavar="FILE", help="Master key of the server, if it is not in the data directory."
        )
        @click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table")
        @wraps(function)
        def run(
            data_dir: str | None, config_path: str | None, master_key_file: str | None, form: str, **given: Any
        ) -> None:
            flags = {"data_dir": data_dir, "config_path": config_path, "master_key_file": master_key_file}
            config = loaded_settings(flags).config
            if not is_first:
                _refuse_missing(config)
            try:
                asyncio.run(_run(function, config, form, given))
            except DataInUse as error:
                raise CannotStart(
                    f"a server (pid {error.owner}) uses {error.path}: change users and keys in its console (/ADMIN "
                    f"where it listens, {endpoint_of(config.listening)} by these settings), or stop it and try again"
                ) from error
            except NoSuchIdentity as error:
                click.echo(f"cqs: {error}", err=True)
                sys.exit(NOT_FOUND)

        return group.command(name, help=help_text)(run)

    return made


def _refuse_missing(config: Config) -> None:
    from cqs.backends import folder_of

    folder = folder_of(config.storage)
    is_elsewhere = config.backends.cassandra or config.storage.is_in_memory
    if not is_elsewhere and not (folder / FILE_NAME).exists():
        raise CannotStart(
            f"There is no data of a server in {folder}: give its data directory by --data-dir or CQS_DATA_DIR, or "
            "create the first user with `cqs user add`."
        )


def confirmed_password(is_from_input: bool) -> str:
    """A password typed twice at a terminal, or the first line of standard input."""
    if is_from_input:
        return sys.stdin.readline().rstrip("\r\n")
    if not _is_terminal():
        raise click.UsageError("there is no terminal to ask for a password; say --password-stdin and pipe it in")
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))


def _is_terminal() -> bool:
    return sys.stdin.isatty()


async def _run(function: Change, config: Config, form: str, given: dict[str, Any]) -> None:
    from cqs.people import accounts_for_command

    async with accounts_for_command(config, SystemClock()) as accounts:
        await function(Desk(accounts, config, form), **given)
