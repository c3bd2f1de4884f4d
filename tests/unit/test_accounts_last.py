"""There is always an administrator left who can log in, even if two lose their rights concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from cqs.errors import IdentityError
from cqs.identity import DEFAULT_ACCOUNT, Identities, Role
from cqs.service.accounts import Accounts
from cqs.service.administrators import is_administrating
from cqs.store.identity import MemoryIdentities
from tests.unit.people import make_people

Take = Callable[[Accounts, str], Awaitable[None]]
WAYS: dict[str, Take] = {
    "role": lambda accounts, name: accounts.set_role(name, Role.OPERATOR),
    "disable": lambda accounts, name: accounts.set_user_enabled(name, False),
    "password": lambda accounts, name: accounts.set_password(name, ""),
    "drop": lambda accounts, name: accounts.drop_user(name),
}


class Slow(MemoryIdentities):
    """A store whose results may be outdated by the time they are used."""

    async def identities(self) -> Identities:
        read = await super().identities()
        await asyncio.sleep(0)
        return read


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("other_way", WAYS)
async def test_of_two_at_once_one_stays(way: str, other_way: str) -> None:
    store = Slow()
    nodes = make_people(store).accounts, make_people(store).accounts
    for name in ("root", "admin"):
        await nodes[0].add_user(name, DEFAULT_ACCOUNT, Role.ADMINISTRATOR, "correct horse")

    outcomes = await asyncio.gather(
        WAYS[way](nodes[0], "root"), WAYS[other_way](nodes[1], "admin"), return_exceptions=True
    )

    assert any(is_administrating(user) for user in (await store.identities()).users)
    assert any(isinstance(one, IdentityError) for one in outcomes)
