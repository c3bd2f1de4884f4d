"""Messages behind thousands that were removed from the front of the line: none is forgotten."""

from __future__ import annotations

import pytest

from tests.contract.cache_bench import RETENTION_MS, CacheBench, of

MANY = 4_500
"""More than a backend that skips removed messages as it meets them looks at in one step."""
BEHIND = [MANY + 1, MANY + 2, MANY + 3]


class StaleRules:
    """Not for the scripts in this process, which take minutes for so many."""

    @pytest.fixture(params=[None, "a"])
    def group(self, request: pytest.FixtureRequest) -> str | None:
        group: str | None = request.param
        return group

    async def test_a_look_costs_no_message_its_place(self, standard: CacheBench, group: str | None) -> None:
        await standard.cache.drop(standard.shard)
        epoch = await standard.cache.begin_fill(standard.shard, RETENTION_MS)
        assert epoch is not None
        entries = [standard.entry(number, group=group) for number in range(1, MANY + 4)]
        await standard.cache.fill(standard.shard, epoch, entries, is_last=False)
        await standard.put(MANY + 4, MANY + 5, group=group)
        await standard.cache.fill(standard.shard, epoch, [], is_last=True)
        await standard.remove(*range(1, MANY + 1))

        for _ in range(3):
            assert await standard.numbers() == (5, 0, 0)

        assert of(await standard.take()) == [*BEHIND, MANY + 4, MANY + 5]

    async def test_what_expires_leaves(self, standard: CacheBench, group: str | None) -> None:
        await standard.put(*range(1, MANY + 4), group=group)
        await standard.remove(*range(1, MANY + 1))

        await standard.advance(RETENTION_MS)
        expired: list[int] = []
        while await standard.cache.vesting(10):
            expired += (await standard.reveal()).expired

        assert expired == BEHIND
        assert await standard.numbers() == (0, 0, 0)

    async def test_a_shorter_retention_applies(self, standard: CacheBench, group: str | None) -> None:
        await standard.put(*range(1, MANY + 4), group=group)
        await standard.remove(*range(1, MANY + 1))
        await standard.advance(1_000)

        standard.retention_ms = 1_000
        expired = (await standard.reveal()).expired
        while await standard.cache.vesting(10):
            expired += (await standard.reveal()).expired

        assert expired == BEHIND
