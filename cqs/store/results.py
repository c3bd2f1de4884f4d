"""What became of a batch of jobs, also when whoever does them fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from cqs.errors import CqsError, StoreUnavailable

Job = TypeVar("Job")
Result = TypeVar("Result")


def results_of(
    run: Callable[[Sequence[Job]], Sequence[Result | Exception]], jobs: Sequence[Job], report: Callable[[], None]
) -> Sequence[Result | Exception]:
    """Each job's, of `run(jobs)`. What that raises is every job's error; `report` is called for one that nobody thought
    of, while it is being handled."""
    try:
        return run(jobs)
    except CqsError as error:
        return [error] * len(jobs)
    except Exception as error:
        report()
        failure = StoreUnavailable(f"The store failed unexpectedly: {error}")
        failure.__cause__ = error
        return [failure] * len(jobs)
