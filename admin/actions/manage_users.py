"""Users: creates, changes, disables and deletes them. Each change takes effect at once, and ends the user's
sessions."""

from __future__ import annotations

from admin.forms import BadInput, Form
from admin.queue_form import may_own
from admin.views.users import person_of
from admin.visit import Done, Visit
from cqs.identity import Role

_ROLES = tuple(role.value for role in Role)


async def add(visit: Visit, form: Form) -> Done:
    """Raises BadInput, IdentityError, StoreUnavailable, OutcomeUnknown."""
    account = form.word("account", visit.viewer.account)
    if not may_own(visit.viewer, account):
        raise BadInput("Account: twelve digits of an account that you may manage are needed.")
    name, role = form.word("name"), Role(form.chosen("role", "Role", _ROLES, Role.OPERATOR.value))
    password = form.text("password")
    _check_first(visit, role, account, password)
    await visit.console.accounts.add_user(name, account, role, password)
    path = visit.links.to("/login") if password and not visit.is_locked else visit.links.to(f"/users/{name}")
    return Done(f"User {name} was added.", path, target=name, detail=f"{role.value} of {account}")


async def set_password(visit: Visit, form: Form) -> Done:
    """Raises BadInput, IdentityError, StoreUnavailable, OutcomeUnknown."""
    person = await person_of(visit, visit.parts["user"])
    password = form.text("password")
    if not password and not form.is_on("none"):
        raise BadInput("Enter a password, or tick the box for no password.")
    _check_first(visit, person.user.role, person.user.account, password)
    await visit.console.accounts.set_password(person.user.name, password)
    said = "has a new password" if password else "can no longer log in"
    return _done(visit, person.user.name, f"{person.user.name} {said}.", "password" if password else "no password")


async def set_role(visit: Visit, form: Form) -> Done:
    """Raises BadInput, IdentityError, StoreUnavailable, OutcomeUnknown."""
    person = await person_of(visit, visit.parts["user"])
    role = Role(form.chosen("role", "Role", _ROLES))
    await visit.console.accounts.set_role(person.user.name, role)
    return _done(visit, person.user.name, f"{person.user.name} is {role.value.replace('_', ' ')} now.", role.value)


async def set_enabled(visit: Visit, form: Form) -> Done:
    """Raises IdentityError, StoreUnavailable, OutcomeUnknown."""
    person = await person_of(visit, visit.parts["user"])
    is_enabled = form.is_on("enabled")
    await visit.console.accounts.set_user_enabled(person.user.name, is_enabled)
    state = "enabled" if is_enabled else "disabled"
    return _done(visit, person.user.name, f"{person.user.name} is {state}.", state)


async def drop(visit: Visit, form: Form) -> Done:
    """Deletes the user and its keys, after its name was typed. Raises BadInput, IdentityError, StoreUnavailable,
    OutcomeUnknown."""
    person = await person_of(visit, visit.parts["user"])
    name = person.user.name
    if form.word("typed") != name:
        raise BadInput(f"Nothing was done: type {name!r} to continue.")
    await visit.console.accounts.drop_user(name)
    return Done(f"User {name} was deleted.", visit.links.to("/users"), target=name)


def _check_first(visit: Visit, role: Role, account: str, password: str) -> None:
    """The first password restricts the console to users with a password, so it must be an administrator's."""
    home = visit.console.about.home
    if password and not visit.is_locked and (role is not Role.ADMINISTRATOR or account != home):
        raise BadInput(
            f"The first user with a password must be an administrator of the server's own account ({home}), "
            "otherwise nobody could manage users."
        )


def _done(visit: Visit, name: str, text: str, detail: str) -> Done:
    is_self = name == visit.viewer.user or not visit.is_locked
    path = visit.links.to("/login") if is_self and detail == "password" else visit.links.to(f"/users/{name}")
    return Done(text, path, target=name, detail=detail)
