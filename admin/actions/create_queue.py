"""Creates a queue, with all of its settings."""

from __future__ import annotations

from admin import queue_form
from admin.forms import BadInput, Form
from admin.visit import Done, Visit
from cqs.queue import QueueName, Settings
from cqs.service import queues
from cqs.service.queue_rules import FIFO_SUFFIX


async def act(visit: Visit, form: Form) -> Done:
    """Raises BadInput, and what `queues.create` raises; an existing queue of that name is an error."""
    account = form.word("account", visit.account)
    if not queue_form.may_own(visit.viewer, account):
        raise BadInput("Account: twelve digits of an account that you may use are needed.")
    is_fifo = form.is_on("is_fifo")
    name = form.word("name")
    if is_fifo and not name.endswith(FIFO_SUFFIX):
        name += FIFO_SUFFIX
    key = QueueName(account, name)
    engine = visit.console.engine
    if engine.registry.get(key) is not None:
        raise BadInput(f"A queue named {name!r} already exists.")
    wanted = queue_form.read(form, key, engine.tuning.region, is_fifo=is_fifo)
    changes = queue_form.only_changes(Settings(), wanted) | ({"is_fifo": True} if is_fifo else {})
    queue = await queues.create(engine, key, changes, queue_form.read_tags(form.text("tags")))
    return Done(f"Queue {queue.name} was created.", visit.links.queue(queue), target=queue.arn)
