"""What a node concludes about another node's clock from heartbeats: it detects real skew, and late ones cause none."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from cqs.cluster.sightings import Sightings
from cqs.service.membership import BEAT_MS, Membership
from cqs.store.coordination import MemoryCluster, MemoryCoordination, Node
from cqs.surroundings import CLOCKS_APART_MS, clocks_apart
from cqs.testing.clock import ManualClock

Late = Callable[[], int]
START_MS = 1_000_000_000


def seen(off_ms: int, late: Late, looks: int = 200, phase_ms: int = 0) -> list[int]:
    """What each look says of a node with that clock. `late`: ms until a beat that is stamped can be found, and until a
    look that has begun ends."""
    sightings, found = Sightings(), []
    beats: list[tuple[int, int]] = []
    stamp_ms = START_MS + phase_ms
    for _ in range(2 * looks):
        written_ms = stamp_ms + late()
        beats.append((written_ms, stamp_ms + off_ms))
        stamp_ms = written_ms + BEAT_MS
    now_ms = START_MS
    for _ in range(looks):
        end_ms = now_ms + late()
        there = [stamp for written_ms, stamp in beats if written_ms <= (now_ms + end_ms) // 2]
        sightings.look([("there", there[-1])] if there else [], now_ms, end_ms)
        found.append(sightings.off_ms("there"))
        now_ms = end_ms + BEAT_MS
    return found


def now_and_then(rng: random.Random, hang_ms: int) -> Late:
    return lambda: hang_ms if rng.random() < 0.1 else rng.randrange(40)


@pytest.mark.parametrize("hang_ms", [3_000, 10_000, 26_000, 120_000])
@pytest.mark.parametrize("seed", range(20))
def test_beats_and_looks_that_hang_prove_nothing(hang_ms: int, seed: int) -> None:
    rng = random.Random(seed)

    assert set(seen(0, now_and_then(rng, hang_ms), phase_ms=rng.randrange(BEAT_MS))) == {0}


@pytest.mark.parametrize("off_ms", [-3_600_000, -10_000, 10_000, 3_600_000])
@pytest.mark.parametrize("phase_ms", range(0, BEAT_MS, 100))
def test_a_clock_that_is_off_is_found_within_five_looks_and_stays_found(off_ms: int, phase_ms: int) -> None:
    found = seen(off_ms, lambda: 20, phase_ms=phase_ms)[5:]

    assert all(abs(one - off_ms) <= 3 * BEAT_MS for one in found)
    assert all(abs(one) > CLOCKS_APART_MS for one in found)


@pytest.mark.parametrize("off_ms", [-3_600_000, 3_600_000])
def test_an_hour_is_found_through_hangs(off_ms: int) -> None:
    found = seen(off_ms, now_and_then(random.Random(7), 10_000))[10:]

    assert all(abs(one - off_ms) < 60_000 for one in found)


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_a_clock_that_jumps_is_found_after_two_more_beats(step_ms: int) -> None:
    sightings = Sightings()
    for second in range(10):
        off_ms = step_ms if second >= 5 else 0
        sightings.look(
            [("there", START_MS + second * 1_000 + off_ms)], START_MS + second * 1_000, START_MS + second * 1_000
        )
        if second < 5:
            assert sightings.off_ms("there") == 0

    assert abs(sightings.off_ms("there") - step_ms) <= 3_000


def test_a_stale_row_says_nothing() -> None:
    sightings = Sightings()
    for second in range(5):
        sightings.look([("there", START_MS + second * 1_000)], START_MS + second * 1_000, START_MS + second * 1_000)
    sightings.look([("there", START_MS)], START_MS + 60_000, START_MS + 60_000)

    assert sightings.off_ms("there") == 0
    sightings.look([], START_MS + 61_000, START_MS + 61_000)
    assert sightings.off_ms("there") == 0


@pytest.mark.parametrize(
    ("off_ms", "words"),
    [(10_000, "at least 10 s ahead of"), (-12_000, "at least 10 s behind"), (0, ""), (-CLOCKS_APART_MS, "")],
)
async def test_a_node_names_the_one_whose_clock_differs(off_ms: int, words: str) -> None:
    clock = ManualClock()
    cluster = MemoryCluster(clock)
    here = Membership(MemoryCoordination(cluster), clock, Node(name="here", started_ms=0, beat_ms=0))
    there = MemoryCoordination(cluster)
    for _ in range(5):
        await there.beat(Node(name="there", started_ms=0, beat_ms=clock.now_ms() + off_ms), 5 * BEAT_MS)
        await here.beat()
        clock.advance_ms(BEAT_MS)

    told = [one.text for one in clocks_apart(here)]

    assert told == ([f"The clock of node there is {words} this one's."] if words else [])
