"""Users, their roles and their access keys. A new key's secret is shown once, on the page that created it."""

from __future__ import annotations

import shlex

import msgspec
from aiohttp import web

from admin.forms import Form
from admin.snippets import ELLIPSIS, Snippets
from admin.viewer import MANAGE
from admin.visit import Visit
from cqs.errors import CqsError, NoSuchIdentity
from cqs.identity import AccessKey, Role, User
from cqs.service.passwords import PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN

ROLES = (
    (Role.READ_ONLY.value, "Read only: looks, changes nothing"),
    (Role.OPERATOR.value, "Operator: everything with queues and messages"),
    (Role.ADMINISTRATOR.value, "Administrator: users and keys, too"),
)


class Person(msgspec.Struct, frozen=True):
    """A user with its keys."""

    user: User
    keys: tuple[AccessKey, ...]


async def show_all(visit: Visit) -> web.StreamResponse:
    return await _list(visit)


async def retry_add(visit: Visit, form: Form, error: CqsError) -> web.StreamResponse:
    """The list again, with what was entered except for the password."""
    return await _list(visit, form, str(error), 422)


async def show(visit: Visit) -> web.StreamResponse:
    """One user. Raises NoSuchIdentity."""
    return await page_of(visit, visit.parts["user"])


async def retry(visit: Visit, form: Form, error: CqsError) -> web.StreamResponse:
    """The user's page again, with the reason why nothing was done."""
    return await page_of(visit, visit.parts["user"], error=str(error), status=422)


async def page_of(visit: Visit, name: str, *, error: str = "", status: int = 200) -> web.StreamResponse:
    """One user; with the secret of a key that was just created. Raises NoSuchIdentity when the viewer may not see the
    user."""
    person = await person_of(visit, name)
    return visit.page(
        "user.html",
        status=status,
        person=person,
        roles=ROLES,
        new_key=visit.flash if visit.flash is not None and visit.flash.secret else None,
        error=error,
        length_min=PASSWORD_LENGTH_MIN,
        length_max=PASSWORD_LENGTH_MAX,
        region=visit.console.engine.tuning.region,
        snippets=_snippets(visit, person.user.name),
    )


async def person_of(visit: Visit, name: str) -> Person:
    """A user whom the viewer may manage: of the viewer's own account, or of any account for administrators of the home
    account. Raises NoSuchIdentity, with the same text for a user who does not exist."""
    visit.viewer.check(MANAGE)
    found = [one for one in await _people(visit) if one.user.name == name]
    if not found:
        raise NoSuchIdentity(f"There is no user {name[:64]!r}.")
    return found[0]


async def _people(visit: Visit) -> list[Person]:
    everybody = await visit.console.accounts.identities()
    return [
        Person(user, tuple(key for key in everybody.keys if key.user == user.name))
        for user in everybody.users
        if visit.viewer.sees(user.account)
    ]


async def _list(visit: Visit, form: Form | None = None, error: str = "", status: int = 200) -> web.StreamResponse:
    return visit.page(
        "users.html",
        status=status,
        people=await _people(visit),
        roles=ROLES,
        form=form or Form([]),
        error=error,
        length_min=PASSWORD_LENGTH_MIN,
        snippets=[("cqs", _command(visit, f"user add --role operator --password {ELLIPSIS}"))],
    )


def _snippets(visit: Visit, name: str) -> Snippets:
    user = shlex.quote(name)
    acts = {
        "New key": f"key add {user}",
        "Disable or drop a key": f"key disable {ELLIPSIS}\nkey delete --yes {ELLIPSIS}",
        "Change role": f"user role {user} operator",
        "Set password": f"user passwd {user}",
        "Disable": f"user disable {user}",
        "Drop": f"user delete --yes {user}",
    }
    return [
        (f"{what}: cqs", "\n".join(_command(visit, line) for line in lines.split("\n"))) for what, lines in acts.items()
    ]


def _command(visit: Visit, words: str) -> str:
    """A command to run where the server's data is."""
    data = visit.console.about.data
    return f"cqs {words}" + (f" --data-dir {shlex.quote(data)}" if data else "")
