"""What is done after the time in which it can be called off. The log of changes says when it was asked for, and what
became of it: done, failed, called off (by "Undo"), or dropped because the server ended."""

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
    """Does the work after the wait; the log is told its answer, and the pages what is `said` of it if a part failed.
    `text` says what will be done, `about` to what, a line each. Returns what the log is to be told now. Raises
    TooMuchPending."""

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
