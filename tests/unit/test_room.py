"""The memory limit for requests: which request gives way to which."""

from __future__ import annotations

import random

from cqs.api.http.room import PLACE_FREE, Place, Room


def places(room: Room, count: int) -> tuple[list[Place], list[int]]:
    """Returns places, and a list of the numbers of those that were crowded out, in order."""
    gone: list[int] = []
    return [room.place(lambda number=number: gone.append(number)) for number in range(count)], gone  # type: ignore[misc]


def test_small_requests_need_no_room() -> None:
    room = Room(0)
    (small,), gone = places(room, 1)

    assert small.grow_to(PLACE_FREE)
    assert (room.held, gone) == (0, [])


def test_the_one_that_began_first_gives_way_and_then_the_next() -> None:
    room = Room(100_000)
    (first, second, third), gone = places(room, 3)
    assert first.grow_to(20_000) and second.grow_to(40_000) and first.grow_to(40_000)

    assert third.grow_to(60_000)
    assert (gone, room.held) == ([0], 100_000)
    assert third.grow_to(90_000)
    assert (gone, room.held, room.crowded_out) == ([0, 1], 90_000, 2)


def test_what_is_served_stays_and_the_newcomer_is_refused() -> None:
    room = Room(100_000)
    (served, newcomer), gone = places(room, 2)
    assert served.grow_to(90_000)
    served.keep()

    assert not newcomer.grow_to(20_000)
    assert (gone, room.held, room.crowded_out) == ([], 90_000, 1)
    served.leave()
    assert newcomer.grow_to(20_000)


def test_leaving_twice_counts_once() -> None:
    room = Room(100_000)
    (place,), _ = places(room, 1)
    assert place.grow_to(50_000)

    place.leave()
    place.leave()

    assert (room.held, len(room.coming)) == (0, 0)


def test_random_histories_stay_within_bounds_and_leave_nothing_behind() -> None:
    rng = random.Random(1)
    room = Room(300_000)
    sizes: dict[int, int] = {}
    served: set[int] = set()

    def begin(number: int) -> Place:
        sizes[number] = 0
        return room.place(lambda: sizes.__delitem__(number))

    every = [begin(number) for number in range(300)]
    for _ in range(20_000):
        number = rng.choice(list(sizes)) if sizes else 0
        if number not in sizes:
            break
        kind = rng.randrange(12)
        if kind == 0 or (number in served and kind < 6):
            every[number].leave()
            del sizes[number]
        elif kind == 1:
            every[number].keep()
            served.add(number)
        elif number not in served:
            sizes[number] += rng.randrange(30_000)
            if not every[number].grow_to(sizes[number]):
                del sizes[number]
        assert room.held == sum(size for size in sizes.values() if size > PLACE_FREE) <= room.bytes_max
        if len(sizes) < 50:
            every.append(begin(len(every)))

    for number in sizes:
        every[number].leave()
    assert (room.held, len(room.coming)) == (0, 0)
