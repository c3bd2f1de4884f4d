"""Performs an action after the time in which it can be cancelled. The log of changes records when it was requested, and
its outcome: done, failed, cancelled (by "Undo"), or dropped because the server stopped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from admin.answers import log
from admin.formats import counted
from admin.visit import Told, Visit
from cqs.errors import CqsError

_IN_THE_CONSOLE = "The console had an internal error."
_DROPPED = "The server stopped before it was done."


def later(
    visit: Visit,
    action: str,
    text: str,
    account: str,
    about: Sequence[Told],
    work: Callable[[], Awaitable[Sequence[Told]]],
    said: Callable[[Sequence[Told]], str],
) -> list[Told]:
    """Runs the work after the wait; logs its result, and shows `said` of it on the pages if a part failed. `text` says
    what will be done, `about` to what, one line each. Returns the lines to log now. Raises TooMuchPending."""

    async def do() -> str:
        told: Sequence[Told] = [one._replace(error=_IN_THE_CONSOLE) for one in about]
        try:
            told = await work()
        except CqsError as error:
            told = [one._replace(error=str(error)) for one in about]
            raise
        finally:
            await log(visit, action, *told)
        return said(told) if any(one.error for one in told) else ""

    async def dropped() -> None:
        await log(visit, action, *(one._replace(error=_DROPPED) for one in about))

    grace = visit.console.grace
    grace.begin(text, account, do, dropped, about[0].target)
    wait = f"to be done in {counted(grace.wait_s, 'second')}"
    return [one._replace(detail=f"{wait}: {one.detail}" if one.detail else wait) for one in about]
