"""Access keys: creates (the secret is shown once), disables and deletes them."""

from __future__ import annotations

from admin.forms import Form
from admin.views.users import person_of
from admin.visit import Done, Visit
from cqs.errors import IdentityError


async def add(visit: Visit, form: Form) -> Done:
    """The next page shows the secret, once. Raises IdentityError, StoreUnavailable, OutcomeUnknown."""
    name = (await person_of(visit, visit.parts["user"])).user.name
    key = await visit.console.accounts.add_key(name)
    path = visit.links.to(f"/users/{name}")
    return Done("The key is active.", path, target=name, detail=key.key_id, key=(key.key_id, key.secret))


async def set_enabled(visit: Visit, form: Form) -> Done:
    """Raises IdentityError, StoreUnavailable, OutcomeUnknown."""
    name, key_id = await _own_key(visit, form)
    is_enabled = form.is_on("enabled")
    await visit.console.accounts.set_key_enabled(key_id, is_enabled)
    state = "enabled" if is_enabled else "disabled"
    return Done(f"{key_id} is {state}.", visit.links.to(f"/users/{name}"), target=name, detail=f"{key_id} {state}")


async def drop(visit: Visit, form: Form) -> Done:
    """Raises IdentityError, StoreUnavailable, OutcomeUnknown."""
    name, key_id = await _own_key(visit, form)
    await visit.console.accounts.drop_key(key_id)
    return Done(f"{key_id} was deleted permanently.", visit.links.to(f"/users/{name}"), target=name, detail=key_id)


async def _own_key(visit: Visit, form: Form) -> tuple[str, str]:
    """The user in the path and the key in the form, which must be that user's."""
    person = await person_of(visit, visit.parts["user"])
    key_id = form.word("key")
    if key_id not in {key.key_id for key in person.keys}:
        raise IdentityError(f"{person.user.name} has no such key.")
    return person.user.name, key_id
