"""Who manages the users. Somebody must always be left who can."""

from __future__ import annotations

from cqs.errors import IdentityError
from cqs.identity import Identities, Role, User


def is_administrating(user: User) -> bool:
    """Whether the user can log in and manage others."""
    return user.role is Role.ADMINISTRATOR and user.is_enabled and bool(user.password_hash)


def check_not_last(everybody: Identities, user: User, home: str) -> None:
    """Call before a user loses its administrator rights. Raises IdentityError if then nobody could log in to manage
    users without access to the server's files, or nobody could manage the server's own account, `home`."""
    if not is_administrating(user):
        return
    others = [one for one in everybody.users if is_administrating(one) and one.name != user.name]
    if not others or (user.account == home and all(one.account != home for one in others)):
        whose = f" of the server's own account ({home})" if others else ""
        raise IdentityError(f"{user.name!r} is the last administrator{whose} who can log in: make another one first.")
