"""`cqs key`: manages the access keys that sign requests."""

from __future__ import annotations

import sys

import click

from cqs.commands.identity_command import Desk, cells, identity_command, moment
from cqs.commands.server_command import confirmed
from cqs.errors import NoSuchIdentity
from cqs.identity import AccessKey, Identities
from cqs.plural import counted

_TITLES = ("key id", "user", "account", "enabled", "created")


@click.group()
def command() -> None:
    """Access keys, which sign the requests of a user.

    With SQLite, these commands work only while no server uses the data directory; the keys of a running server are
    changed in its console. With Cassandra they work at any time.
    """


@identity_command(command, "add", "Create an access key. Its secret is shown only once.")
@click.argument("user")
@click.option("--id", "key_id", default="", help="Key id. [default: random]")
@click.option(
    "--secret-stdin", "is_from_input", is_flag=True, help="Read the secret from standard input. [default: random]"
)
async def add(desk: Desk, user: str, key_id: str, is_from_input: bool) -> None:
    """Standard output holds two lines for an environment file, and nothing else."""
    secret = sys.stdin.readline().rstrip("\r\n") if is_from_input else ""
    if is_from_input and not secret:
        raise click.UsageError("--secret-stdin: there is no secret on standard input")
    new = await desk.accounts.add_key(user, key_id, secret)
    owner = next(one for one in (await desk.accounts.identities()).users if one.name == user)
    value = {"key_id": new.key_id, "secret": new.secret, "user": user, "account": owner.account}
    desk.tell(value, f"AWS_ACCESS_KEY_ID={new.key_id}\nAWS_SECRET_ACCESS_KEY={new.secret}")
    if not desk.is_json:
        click.echo(f"A key of {user}, account {owner.account}. The secret is not shown again.", err=True)


@identity_command(command, "list", "List access keys, of all users or of one.")
@click.argument("user", default="")
async def list_keys(desk: Desk, user: str) -> None:
    everybody = await desk.accounts.identities()
    if user and all(one.name != user for one in everybody.users):
        raise NoSuchIdentity(f"There is no user {user!r}.")
    _show(desk, everybody, [key for key in everybody.keys if user in ("", key.user)])


@identity_command(command, "disable", "Disable a key; it can be enabled again.")
@click.argument("key_id")
async def disable(desk: Desk, key_id: str) -> None:
    await desk.accounts.set_key_enabled(key_id, False)
    await _show_one(desk, key_id)


@identity_command(command, "enable", "Enable a disabled key.")
@click.argument("key_id")
async def enable(desk: Desk, key_id: str) -> None:
    await desk.accounts.set_key_enabled(key_id, True)
    await _show_one(desk, key_id)


@identity_command(command, "delete", "Delete a key permanently.")
@click.argument("key_id")
@click.option("--yes", is_flag=True, help="Confirm.")
async def delete(desk: Desk, key_id: str, yes: bool) -> None:
    confirmed(yes, f"deleting {key_id}")
    await desk.accounts.drop_key(key_id)
    desk.tell({"key_id": key_id, "deleted": True}, f"{key_id} is gone.")


@identity_command(
    command, "reseal", "Encrypt all secrets with the first master key, so that older keys can be removed."
)
async def reseal(desk: Desk) -> None:
    count = await desk.accounts.reseal()
    keys = len((await desk.accounts.identities()).keys)
    desk.tell({"resealed": count}, f"Encrypted again: {count} of {counted(keys, 'key')}.")


async def _show_one(desk: Desk, key_id: str) -> None:
    everybody = await desk.accounts.identities()
    _show(desk, everybody, [key for key in everybody.keys if key.key_id == key_id])


def _show(desk: Desk, everybody: Identities, keys: list[AccessKey]) -> None:
    account_of = {user.name: user.account for user in everybody.users}
    shown = [
        {
            "key_id": key.key_id,
            "user": key.user,
            "account": account_of[key.user],
            "enabled": key.is_enabled,
            "created": moment(key.created_ms),
        }
        for key in keys
    ]
    desk.show(shown, _TITLES, map(cells, shown))
