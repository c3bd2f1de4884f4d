"""Fair queues: on a standard shard with message groups, quiet tenants are served before noisy ones (sqs.md A6)."""

from __future__ import annotations

from tests.contract.cache_bench import CacheBench, of


class FairRules:
    async def test_tenant_with_a_big_share_in_flight_yields_to_quiet_ones(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 61), group="loud")
        await standard.put(101, 102, group="quiet")
        await standard.put(103)
        await standard.take(30)

        assert of(await standard.take(3)) == [101, 102, 103]
        assert of(await standard.take(2)) == [31, 32]

    async def test_fewer_than_thirty_in_flight_is_not_noisy(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 61), group="loud")
        await standard.put(101, group="quiet")
        await standard.take(29)

        assert of(await standard.take(1)) == [30]
        assert of(await standard.take(1)) == [101]

    async def test_small_share_in_flight_is_not_noisy(self, standard: CacheBench) -> None:
        for tenant in range(20):
            first = tenant * 1_000
            await standard.put(*range(first + 1, first + 32), group=f"tenant-{tenant}")
        await standard.put(50_000, group="late")
        await standard.put(50_001, group="tenant-0")
        await standard.take(620)

        assert of(await standard.take(2)) == [50_000, 50_001]

    async def test_nothing_is_ever_withheld(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 101), group="loud")
        await standard.put(201, group="quiet")

        taken: list[int] = []
        while batch := of(await standard.take(10)):
            taken += batch

        assert sorted(taken) == [*range(1, 101), 201]
        assert [number for number in taken if number != 201] == list(range(1, 101))

    async def test_among_noisy_tenants_the_one_with_fewest_in_flight_is_first(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 61), group="louder")
        await standard.take(40)
        await standard.put(*range(101, 133), group="loud")
        await standard.put(201, group="quiet")
        await standard.take(30)

        assert of(await standard.take(3)) == [201, 131, 132]
        assert of(await standard.take(1)) == [41]

    async def test_tenant_is_quiet_again_when_its_share_has_fallen(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 41), group="loud")
        await standard.put(101, 102, 103, group="quiet")
        taken = await standard.take(30)
        assert of(await standard.take(1)) == [101]

        await standard.remove(*of(taken))

        assert of(await standard.take(2)) == [31, 32]

    async def test_passed_messages_that_come_back_stand_before_those_not_taken_yet(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 36), group="loud")
        await standard.put(101, 102, group="quiet")
        taken = await standard.take(30)
        assert of(await standard.take(1)) == [101]

        await standard.run_out()

        assert of(await standard.take(40)) == [101, 102, *of(taken), *range(31, 36)]

    async def test_much_processing_time_is_noisy_too(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 21), group="slow")
        await standard.put(101, 102, group="quick")
        await standard.take(10, visibility_ms=600_000)

        await standard.advance(60_000)

        assert of(await standard.take(1)) == [101]

    async def test_little_processing_time_is_not_noisy(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 21), group="slow")
        await standard.put(101, group="quick")
        await standard.take(10, visibility_ms=600_000)

        await standard.advance(1_000)

        assert of(await standard.take(1)) == [11]

    async def test_five_minutes_without_sends_end_the_noise(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 61), group="loud")
        await standard.take(30, visibility_ms=3_600_000)
        await standard.advance(301_000)
        await standard.put(101, group="quiet")

        assert of(await standard.take(1)) == [31]

    async def test_noisy_tenants_are_counted(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 61), group="loud")
        await standard.put(101, group="quiet")
        assert (await standard.counts()).noisy_groups == 0

        taken = await standard.take(30)
        assert (await standard.counts()).noisy_groups == 1

        await standard.remove(*of(taken))
        assert (await standard.counts()).noisy_groups == 0

    async def test_removed_messages_of_a_noisy_tenant_are_not_taken(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 61), group="loud")
        await standard.put(101, 102, group="quiet")
        await standard.take(30)
        assert of(await standard.take(1)) == [101]

        await standard.remove(*range(31, 56), 102)

        assert of(await standard.take(10)) == [56, 57, 58, 59, 60]

    async def test_fifo_groups_are_never_noisy(self, fifo: CacheBench) -> None:
        await fifo.put(*range(1, 61), group="loud")
        await fifo.take(40)

        assert (await fifo.counts()).noisy_groups == 0

    async def test_passed_messages_that_a_take_does_not_hide_stay_in_line(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 36), group="loud")
        await standard.put(101, group="quiet")
        await standard.take(30)
        assert of(await standard.take(1)) == [101]

        assert of(await standard.take(2, visibility_ms=0)) == [31, 32]
        assert of(await standard.take(2, visibility_ms=0)) == [31, 32]
        assert of(await standard.take(10)) == [31, 32, 33, 34, 35]
