"""Moves of messages between queues: the service's move tasks and this console's jobs, with their progress."""

from __future__ import annotations

import shlex

import msgspec
from aiohttp import web

from admin.jobs import Job
from admin.queue_list import Choice, find
from admin.snippets import named, snippets
from admin.views.dead_letters import target_name
from admin.visit import Visit
from cqs.errors import ResourceNotFound
from cqs.service.move_board import ACTIVE
from cqs.store.interface import MoveStatus, MoveTask

SHOWN_MAX = 100
_ENDS = {MoveStatus.COMPLETED: "done", MoveStatus.CANCELLED: "stopped", MoveStatus.CANCELLING: "stopping"}


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A move or a job, for the list and for its page. `total` 0 = unknown."""

    title: str
    path: str
    status: str
    is_running: bool
    done: int
    total: int
    failed: int = 0
    seen: int = 0
    rate: int = 0
    who: str = ""
    problem: str = ""
    started_ms: int
    ended_ms: int = 0
    stop_path: str
    handle: str = ""


async def show_all(visit: Visit) -> web.StreamResponse:
    """Newest first, running ones before those that have ended."""
    moves = [of_job(visit, job) for job in visit.console.jobs.of(visit.account)]
    engine = visit.console.engine
    for queue in find(engine, visit.account, Choice(kind="dead_letter", order="name")):
        moves += [of_task(visit, task) for task in engine.moves.of_source(queue.key, 10)]
    moves.sort(key=lambda move: (move.is_running, move.started_ms), reverse=True)
    return visit.page("moves.html", moves=moves[:SHOWN_MAX])


async def show_task(visit: Visit) -> web.StreamResponse:
    """A move task's own page. Raises ResourceNotFound."""
    task = visit.console.engine.moves.get(visit.query("handle"))
    if task is None or not visit.viewer.sees(task.source.account):
        raise ResourceNotFound("There is no such move, or it ended long ago.")
    cancel = ("CancelMessageMoveTask", {"TaskHandle": task.handle})
    return visit.page(
        "move.html",
        move=of_task(visit, task),
        snippets=snippets(visit, cancel, cqs=f"redrive --cancel {shlex.quote(named(visit, task.source_arn))}"),
    )


async def show_job(visit: Visit) -> web.StreamResponse:
    """A job's own page. Raises ResourceNotFound."""
    return visit.page("move.html", move=of_job(visit, job_of(visit)), snippets=[])


def job_of(visit: Visit) -> Job:
    """The job that the path names. Raises ResourceNotFound."""
    job = visit.console.jobs.get(visit.numbered("job"))
    if job is None or not visit.viewer.sees(job.account):
        raise ResourceNotFound(
            "There is no such job, or it is long over. Only the node and the worker that began a job know of it."
        )
    return job


def of_task(visit: Visit, task: MoveTask) -> Move:
    """A move task of the service."""
    return Move(
        title=f"{task.source.name} to {target_name(task)}",
        path=visit.links.to("/moves/task", handle=task.handle),
        status=_ENDS.get(task.status, task.status.value.lower()),
        is_running=task.status in ACTIVE,
        done=task.moved,
        total=task.to_move,
        rate=task.rate_max,
        problem=task.failure,
        started_ms=task.started_ms,
        stop_path=visit.links.to("/moves/task/stop"),
        handle=task.handle,
    )


def of_job(visit: Visit, job: Job) -> Move:
    """A job of the console."""
    path = visit.links.to(f"/moves/job/{job.number}")
    return Move(
        title=job.title,
        path=path,
        status=job.status.value,
        is_running=job.is_running,
        done=job.done,
        total=job.total,
        failed=job.failed,
        seen=job.seen,
        who=job.who,
        problem=job.problem,
        started_ms=job.started_ms,
        ended_ms=job.ended_ms,
        stop_path=visit.links.to(f"/moves/job/{job.number}/stop"),
    )
