"""Move tasks across nodes: any node starts, lists and cancels them, the leader executes them.

    node B                                    store                       leader
    ──────                                    ─────                       ──────
    start: save the task ═══════════════════► RUNNING
    announce "move task"  ──────────────────► news ─────────────────────► reads all tasks, executes it
    cancel: save CANCELLING ════════════════► CANCELLING (progress may overwrite it)
    announce "move task cancelled" ─────────► news ─────────────────────► marks it on its own board: it ends

    the task ends: save COMPLETED ═════════► COMPLETED
    cancel: save CANCELLING ════════════════► CANCELLING, for ever without the answer to the news:
    announce "move task cancelled" ─────────► news ─────────────────────► it has ended here: save COMPLETED again

The last save of a leader that dies may be progress that overwrites CANCELLING; a board that heard of the cancel keeps
it. The leader's board has the newest progress of a task; other nodes read it from the store on request.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from cqs.service.engine import Engine
from cqs.service.move_board import ACTIVE
from cqs.service.news import tell
from cqs.store.coordination import News
from cqs.store.interface import MoveStatus, MoveTask

STARTED, CANCELLED = "move task", "move task cancelled"


async def tell_started(engine: Engine, handle: str) -> None:
    """Never raises."""
    await tell(engine, News(STARTED, handle))


async def tell_cancelled(engine: Engine, handle: str) -> None:
    """Never raises."""
    await tell(engine, News(CANCELLED, handle))


async def read_all(engine: Engine) -> None:
    """Loads the store's tasks into the board; the leader keeps its own newer state of active tasks. Raises
    StoreUnavailable."""
    board, is_led_here = engine.moves, engine.cluster.leadership.is_held
    for task in reversed(await engine.store.move_tasks()):
        known = board.get(task.handle)
        if known is None or not is_led_here or task.moved > known.moved or _is_over(task, known):
            is_cancelled = known is not None and known.status is MoveStatus.CANCELLING and task.status in ACTIVE
            board.put(msgspec.structs.replace(task, status=MoveStatus.CANCELLING) if is_cancelled else task)
    board.is_loaded = True


def _is_over(task: MoveTask, known: MoveTask) -> bool:
    return known.status in ACTIVE and task.status not in ACTIVE


async def hear(engine: Engine, news: Iterable[News]) -> None:
    """Raises StoreUnavailable, OutcomeUnknown."""
    told = {kind: [one.subject for one in news if one.kind == kind] for kind in (STARTED, CANCELLED)}
    if any(engine.moves.get(handle) is None for handle in told[STARTED] + told[CANCELLED]):
        await read_all(engine)
    for handle in told[CANCELLED]:
        task = engine.moves.get(handle)
        if task is None:
            continue
        if task.status is MoveStatus.RUNNING:
            engine.moves.put(msgspec.structs.replace(task, status=MoveStatus.CANCELLING))
        elif task.status not in ACTIVE and engine.cluster.leadership.is_held:
            await engine.store.save_move_task(task)
