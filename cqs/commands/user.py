"""`cqs user`: manages users and their roles."""

from __future__ import annotations

import click

from cqs.commands.identity_command import Desk, cells, confirmed_password, identity_command, moment
from cqs.commands.server_command import confirmed
from cqs.errors import NoSuchIdentity
from cqs.identity import Identities, Role, User


class _RoleName(click.Choice[str]):
    """A role's name, in any case, with hyphen or underscore: files and policies use `read_only`."""

    def __init__(self) -> None:
        super().__init__([role.value for role in Role])

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(value.lower().replace("-", "_"), param, ctx)


_ROLES = _RoleName()


@click.group()
def command() -> None:
    """Users, who log in to the console and whose access keys sign requests.

    With SQLite, these commands work only while no server uses the data directory; the users of a running server are
    changed in its console. With Cassandra they work at any time.
    """


@identity_command(command, "add", "Create a user. Without a password it can't log in to the console.", is_first=True)
@click.argument("name")
@click.option("--account", metavar="ID", help="Twelve digits; created if new. [default: the server's own]")
@click.option("--role", type=_ROLES, default="operator", show_default=True)
@click.option("--password", "is_asked", is_flag=True, help="Ask for a password.")
@click.option("--password-stdin", "--stdin", "is_from_input", is_flag=True, help="Read a password from standard input.")
async def add(desk: Desk, name: str, account: str | None, role: str, is_asked: bool, is_from_input: bool) -> None:
    password = confirmed_password(is_from_input) if is_asked or is_from_input else ""
    owner = account or desk.config.behaviour.account
    await desk.accounts.add_user(name, owner, Role(role), password)
    await _show(desk, name)


@identity_command(command, "list", "List users.")
async def list_users(desk: Desk) -> None:
    everybody = await desk.accounts.identities()
    shown = [_shown(user, everybody) for user in everybody.users]
    desk.show(shown, list(shown[0]) if shown else ["user"], map(cells, shown))


@identity_command(command, "disable", "Disable a user: no login, and none of its keys works.")
@click.argument("name")
async def disable(desk: Desk, name: str) -> None:
    await desk.accounts.set_user_enabled(name, False)
    await _show(desk, name)


@identity_command(command, "enable", "Enable a disabled user.")
@click.argument("name")
async def enable(desk: Desk, name: str) -> None:
    await desk.accounts.set_user_enabled(name, True)
    await _show(desk, name)


@identity_command(command, "delete", "Delete a user and its keys. Queues stay; they belong to the account.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Confirm.")
async def delete(desk: Desk, name: str, yes: bool) -> None:
    confirmed(yes, f"deleting {name} and its keys")
    await desk.accounts.drop_user(name)
    desk.tell({"user": name, "deleted": True}, f"{name} is gone, and its keys.")


@identity_command(command, "passwd", "Set a user's console password; this ends its sessions.")
@click.argument("name")
@click.option("--password-stdin", "--stdin", "is_from_input", is_flag=True, help="Read it from standard input.")
@click.option("--remove", is_flag=True, help="Remove the password: no login, but access keys keep working.")
async def passwd(desk: Desk, name: str, is_from_input: bool, remove: bool) -> None:
    await desk.accounts.set_password(name, "" if remove else confirmed_password(is_from_input))
    await _show(desk, name)


@identity_command(command, "role", "Change the role of a user.")
@click.argument("name")
@click.argument("role", type=_ROLES)
async def change_role(desk: Desk, name: str, role: str) -> None:
    await desk.accounts.set_role(name, Role(role))
    await _show(desk, name)


async def _show(desk: Desk, name: str) -> None:
    everybody = await desk.accounts.identities()
    for user in everybody.users:
        if user.name == name:
            shown = _shown(user, everybody)
            desk.show(shown, list(shown), [cells(shown)])
            return
    raise NoSuchIdentity(f"There is no user {name!r}.")


def _shown(user: User, everybody: Identities) -> dict[str, object]:
    return {
        "user": user.name,
        "account": user.account,
        "role": user.role.value,
        "enabled": user.is_enabled,
        "password": bool(user.password_hash),
        "keys": [key.key_id for key in everybody.keys if key.user == user.name],
        "created": moment(user.created_ms),
        "id": user.user_id,
    }
