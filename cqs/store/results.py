"""The result of each job of a batch, even if the whole batch fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from cqs.errors import CqsError, StoreUnavailable

Job = TypeVar("Job")
Result = TypeVar("Result")


def results_of(
    run: Callable[[Sequence[Job]], Sequence[Result | Exception]], jobs: Sequence[Job], report: Callable[[], None]
) -> Sequence[Result | Exception]:
    """The results of `run(jobs)`. If that raises, the exception is every job's error; `report` is called while an
    unexpected one is being handled."""
    try:
        return run(jobs)
    except CqsError as error:
        return [error] * len(jobs)
    except Exception as error:
        report()
        failure = StoreUnavailable(f"The store failed unexpectedly: {error}")
        failure.__cause__ = error
        return [failure] * len(jobs)
