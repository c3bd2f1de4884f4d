"""Sends dead letters back: all of a queue with a move task of the service; selected or matching ones with a job.

A message is sent again before the old one is deleted, so a crash leaves it twice at worst and never loses it. The
target is its source queue, or a named queue. Messages of a FIFO queue are sent one after the other; if one can't be
sent, later messages of its group stay too.
"""

from __future__ import annotations

import asyncio

from admin.forms import BadInput, Form
from admin.jobs import Job
from admin.letters import kind_of
from admin.redrive_form import arn_of
from admin.views.dead_letters import asked_filter
from admin.visit import Done, Visit
from cqs import limits
from cqs.cache.entry import State
from cqs.errors import CqsError, QueueDoesNotExist, ResourceNotFound
from cqs.queue import Queue
from cqs.service import move_tasks
from cqs.service.engine import Engine
from cqs.service.peek import SCAN_MAX, Filter, Peeked, find, peek
from cqs.service.resend import Edits, resend

CHOSEN_MAX = 1_000
AT_A_TIME = 8
BEHIND = "An earlier message of its group could not be sent."


async def act(visit: Visit, form: Form) -> Done:
    """Raises BadInput, AccessDenied, and what `move_tasks.start` raises."""
    queue = visit.queue("StartMessageMoveTask")
    which = form.chosen("which", "Which", ("chosen", "matching", "all"), "chosen")
    rate = form.number("rate", "Messages per second", 0, limits.MOVE_RATE_MAX, 0)
    name = form.word("target")
    target_arn = arn_of(name, queue.key, queue.region) if name else ""
    if target_arn:
        _check_target(visit, queue, target_arn)
    if which == "all":
        for permission, one in move_tasks.needed(visit.console.engine, queue, target_arn):
            visit.queue_named(one.key, permission)
        handle = await move_tasks.start(visit.console.engine, queue.arn, target_arn, rate)
        path = visit.links.to("/moves/task", handle=handle)
        return Done("The move has started.", path, target=queue.arn, detail=f"all to {name or 'their sources'}")
    job = _Redrive(visit, visit.queue("DeleteMessage"), target_arn, rate)
    if which == "chosen":
        job.chosen = list(dict.fromkeys(form.all("chosen")))
        if not 1 <= len(job.chosen) <= CHOSEN_MAX:
            raise BadInput(f"Choose 1 to {CHOSEN_MAX:,} messages.")
    else:
        job.wanted = asked_filter(form.text("text"))
        job.source, job.shape, job.error = (form.text(name) for name in ("from", "shape", "error"))
    title = f"Dead letters of {queue.name} to {name or 'their sources'}"
    started = visit.console.jobs.start(title, visit.viewer.name, queue.account, job.run)
    return Done(
        "The job has started.",
        visit.links.to(f"/moves/job/{started.number}"),
        target=queue.arn,
        detail=f"{which}: {title}",
    )


def _check_target(visit: Visit, queue: Queue, arn: str) -> None:
    target = visit.console.engine.registry.of_arn(arn)
    if target is None or target.arn != arn or not visit.viewer.sees(target.account):
        raise BadInput("Send to: there is no such queue.")
    visit.queue_named(target.key, "SendMessage")
    if target.key == queue.key:
        raise BadInput("Send to: that is the queue itself.")


class _Redrive:
    """The job: messages selected by ID, or all that match."""

    def __init__(self, visit: Visit, queue: Queue, target_arn: str, rate: int) -> None:
        self._visit = visit
        self._engine: Engine = visit.console.engine
        self._queue = queue
        self._target_arn = target_arn
        self._rate = rate
        self._sender_id = visit.viewer.caller(queue.account).sender_id
        self.chosen: list[str] = []
        self.wanted = Filter()
        self.source = self.shape = self.error = ""
        self._stuck: set[str | None] = set()
        """Groups with a message that could not be sent."""

    async def run(self, job: Job) -> None:
        if self.chosen:
            job.total = len(self.chosen)
            for start in range(0, len(self.chosen), AT_A_TIME):
                await self._step(job, [await self._find(one) for one in self.chosen[start : start + AT_A_TIME]])
                if not job.is_wanted:
                    return
            return
        after: int | None = None
        while job.is_wanted:
            page = await peek(
                self._engine,
                self._queue,
                State.READY,
                after=after,
                count_max=AT_A_TIME * 4,
                scan_max=SCAN_MAX // 10,
                wanted=self.wanted,
            )
            fitting = [one for one in page.found if kind_of(one.message).is_alike(self.source, self.shape, self.error)]
            for start in range(0, len(fitting), AT_A_TIME):
                await self._step(job, list(fitting[start : start + AT_A_TIME]))
            job.seen += page.scanned
            after = page.after
            if after is None:
                return

    async def _step(self, job: Job, letters: list[Peeked | None]) -> None:
        """Sends some messages concurrently, or in order for FIFO, then pauses for as long as the rate requires. Raises
        AccessDenied if the user who started the job has lost the permission."""
        self._visit = await self._visit.renewed()
        self._visit.queue_named(self._queue.key, "StartMessageMoveTask")
        if self._queue.settings.is_fifo:
            answers = [await self._send_back_in_turn(one) for one in letters]
        else:
            answers = await asyncio.gather(*(self._send_back(one) for one in letters))
        problems = [one for one in answers if one]
        job.failed += len(problems)
        job.done += len(answers) - len(problems)
        job.problem = problems[0] if problems else job.problem
        if self._rate:
            await asyncio.sleep(len(letters) / self._rate)

    async def _find(self, message_id: str) -> Peeked | None:
        try:
            return await find(self._engine, self._queue, message_id)
        except ResourceNotFound:
            return None

    async def _send_back_in_turn(self, letter: Peeked | None) -> str:
        """As `_send_back`."""
        group = letter.message.group if letter is not None else None
        if letter is not None and group in self._stuck:
            return BEHIND
        problem = await self._send_back(letter)
        if problem and letter is not None:
            self._stuck.add(group)
        return problem

    async def _send_back(self, letter: Peeked | None) -> str:
        """Why it failed, "" on success."""
        if letter is None:
            return "The message was already gone."
        message = letter.message
        try:
            target = self._target_of(message.source_arn or "")
            await resend(
                self._engine,
                self._queue,
                target,
                message.message_id,
                Edits(delay_ms=0),
                self._sender_id,
                is_original_deleted=True,
            )
        except CqsError as error:
            return str(error)
        return ""

    def _target_of(self, source_arn: str) -> Queue:
        arn = self._target_arn or source_arn
        target = self._engine.registry.of_arn(arn)
        if target is None or target.key == self._queue.key:
            raise QueueDoesNotExist("The source queue is unknown or deleted. Name a queue to send to.")
        return self._visit.queue_named(target.key, "SendMessage")
