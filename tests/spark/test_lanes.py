"""Work that is distributed over threads keeps its order per key."""

from __future__ import annotations

import os
import random
import threading
from collections import defaultdict
from queue import Queue

from spark_jobs.lanes import WAITING_MAX, Turns

THREADS = 8


def worked(pieces: list[tuple[str | None, int]], yields_max: int = 1) -> dict[str | None, list[int]]:
    """Returns the numbers of each key in the order in which threads finished them."""
    waiting: Queue[tuple[str | None, int] | None] = Queue(THREADS)
    turns = Turns(waiting, lambda piece: piece[0])
    ended: dict[str | None, list[int]] = defaultdict(list)

    def work() -> None:
        rng = random.Random()
        for key, number in turns.pieces():
            for _ in range(rng.randrange(yields_max)):
                os.sched_yield()
            ended[key].append(number)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for piece in [*pieces, *[None] * THREADS]:
        waiting.put(piece)
    for thread in threads:
        thread.join(90)
    return ended


def test_pieces_of_a_key_keep_their_order_beside_others() -> None:
    ended = worked([("abc"[number % 3], number) for number in range(150)] + [(None, 150)], yields_max=20)

    assert [len(ended[key]) for key in ("a", "b", "c", None)] == [50, 50, 50, 1]
    assert all(numbers == sorted(numbers) for numbers in ended.values())


def test_more_pieces_of_one_key_than_may_wait_are_all_worked_on() -> None:
    count = 3 * WAITING_MAX

    assert worked([("a", number) for number in range(count)])["a"] == list(range(count))


def test_pieces_without_a_key_wait_for_nobody() -> None:
    waiting: Queue[int | None] = Queue()
    for number in (1, 2):
        waiting.put(number)
    turns = Turns(waiting, lambda _: None)

    assert (next(turns.pieces()), next(turns.pieces())) == (1, 2)
