"""A disabled key is rejected on every node within five seconds, even on a node that can't reach the store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from cqs.errors import ServiceUnavailable, StoreUnavailable
from cqs.identity import Identities, Role
from cqs.service import credentials as credentials_module
from cqs.service.accounts import Accounts
from cqs.service.credentials import LOOK_MS, STALE_MS_MAX, unopened
from cqs.service.seal import Sealer
from cqs.store.identity import MemoryIdentities
from tests.unit.people import OURS, People, make_people

KILLS: dict[str, Callable[[Accounts], Awaitable[None]]] = {
    "key disabled": lambda accounts: accounts.set_key_enabled("AKIABOB", False),
    "key dropped": lambda accounts: accounts.drop_key("AKIABOB"),
    "user disabled": lambda accounts: accounts.set_user_enabled("bob", False),
    "user dropped": lambda accounts: accounts.drop_user("bob"),
}


class CutStore(MemoryIdentities):
    """A store that can be made unreachable, and that counts how often it is read completely."""

    def __init__(self) -> None:
        super().__init__()
        self.is_cut = False
        self.reads = 0

    async def identities_version(self) -> int:
        if self.is_cut:
            raise StoreUnavailable("cut off")
        return await super().identities_version()

    async def identities(self) -> Identities:
        self.reads += 1
        return await super().identities()


async def two_nodes() -> tuple[CutStore, People, People]:
    store = CutStore()
    here = make_people(store)
    there = make_people(store, here.clock)
    await here.accounts.add_user("bob", OURS, Role.OPERATOR)
    await here.accounts.add_key("bob", "AKIABOB", "secret")
    await there.credentials.refresh()
    return store, here, there


@pytest.mark.parametrize("kill", KILLS.values(), ids=KILLS.keys())
async def test_key_is_dead_here_at_once_and_elsewhere_at_the_next_look(
    kill: Callable[[Accounts], Awaitable[None]],
) -> None:
    _, here, there = await two_nodes()
    assert here.credentials.find("AKIABOB") and there.credentials.find("AKIABOB")

    await kill(here.accounts)

    assert here.credentials.find("AKIABOB") is None
    await there.credentials.refresh()
    assert there.credentials.find("AKIABOB") is None


async def test_node_that_is_cut_off_refuses_everybody_before_five_seconds_are_over() -> None:
    store, _, there = await two_nodes()
    store.is_cut = True

    there.clock.advance_ms(STALE_MS_MAX)
    assert there.credentials.find("AKIABOB") is not None
    there.clock.advance_ms(1)
    for key_id in ("AKIABOB", "AKIANOBODY"):
        with pytest.raises(ServiceUnavailable):
            there.credentials.find(key_id)
    with pytest.raises(StoreUnavailable):
        await there.credentials.refresh()
    store.is_cut = False
    await there.credentials.refresh()
    assert there.credentials.find("AKIABOB") is not None
    assert LOOK_MS * 4 < STALE_MS_MAX == 5_000


async def test_node_that_is_cut_off_does_not_trust_its_keys_for_longer_because_its_clock_was_set_back() -> None:
    store, _, there = await two_nodes()
    store.is_cut = True

    there.clock.advance_ms(-3_600_000)

    with pytest.raises(ServiceUnavailable):
        there.credentials.find("AKIABOB")


async def test_nothing_is_known_before_the_first_look() -> None:
    with pytest.raises(ServiceUnavailable):
        make_people().credentials.find("AKIABOB")


async def test_look_that_was_answered_late_counts_from_when_it_was_asked() -> None:
    store, _, there = await two_nodes()
    answer = asyncio.Event()
    version = store.identities_version

    async def slow() -> int:
        found = await version()
        await answer.wait()
        return found

    store.identities_version = slow  # type: ignore[method-assign]
    look = asyncio.create_task(there.credentials.refresh())
    await asyncio.sleep(0)
    there.clock.advance_ms(STALE_MS_MAX + 1)
    answer.set()
    await look

    with pytest.raises(ServiceUnavailable):
        there.credentials.find("AKIABOB")


async def test_everybody_is_read_again_only_after_a_change() -> None:
    store, here, there = await two_nodes()
    before = store.reads

    for _ in range(5):
        await there.credentials.refresh()
    assert store.reads == before
    await here.accounts.set_key_enabled("AKIABOB", False)
    between = store.reads
    await there.credentials.refresh()
    assert store.reads == between + 1


async def test_new_role_is_in_force_at_the_next_look() -> None:
    _, here, there = await two_nodes()
    first = there.credentials.find("AKIABOB")

    await here.accounts.set_role("bob", Role.READ_ONLY)
    await there.credentials.refresh()

    second = there.credentials.find("AKIABOB")
    assert first is not None and second is not None
    assert (first.caller.role, second.caller.role) == (Role.OPERATOR, Role.READ_ONLY)


async def test_same_credential_is_handed_out_until_it_changes() -> None:
    _, here, there = await two_nodes()
    first = there.credentials.find("AKIABOB")
    await here.accounts.add_key("bob")
    await there.credentials.refresh()

    assert there.credentials.find("AKIABOB") is first


async def test_key_sealed_with_an_unknown_master_key_is_no_wrong_signature() -> None:
    store, here, _ = await two_nodes()
    stranger = make_people(store, here.clock, Sealer([bytes(32)]))
    await stranger.credentials.refresh()

    assert unopened(await store.identities(), Sealer([bytes(32)])) == ["AKIABOB"]
    with pytest.raises(ServiceUnavailable, match="can't be checked by this server"):
        stranger.credentials.find("AKIABOB")


async def test_loop_looks_again_and_again_and_outlives_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    store, here, there = await two_nodes()
    monkeypatch.setattr(credentials_module, "LOOK_MS", 0)
    loop = asyncio.create_task(there.credentials.run())
    store.is_cut = True
    for _ in range(20):
        await asyncio.sleep(0)
    store.is_cut = False
    await here.accounts.set_key_enabled("AKIABOB", False)
    for _ in range(20):
        await asyncio.sleep(0)

    assert there.credentials.find("AKIABOB") is None
    assert not loop.done()
    loop.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loop
