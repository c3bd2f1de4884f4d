"""A group commit that can't begin a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from cqs.errors import StoreUnavailable
from cqs.store.group_commit import GroupCommit
from cqs.store.hand_thread import HandThread


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            StoreUnavailable("The writer can't be started: out of memory."),
            "The writer can't be started: out of memory.",
        ),
        (ValueError("odd"), "The store failed unexpectedly: odd"),
    ],
)
async def test_a_hand_that_can_not_begin_tells_why_and_the_next_batch_is_tried(error: Exception, text: str) -> None:
    class Refusing(HandThread[int, int]):
        refusals = 1

        def give(self, jobs: Sequence[int], done: Callable[[Sequence[int | Exception]], None]) -> None:
            if self.refusals:
                self.refusals -= 1
                raise error
            super().give(jobs, done)

    commit = GroupCommit(Refusing(lambda jobs: [job * 10 for job in jobs], name="test"))
    await commit.open()

    with pytest.raises(StoreUnavailable) as refused:
        await commit.submit(1)

    assert str(refused.value) == text
    assert await commit.submit(2) == 20
    assert commit.tally.failures == 1
    await commit.close()
