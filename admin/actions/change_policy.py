"""Changes who else may use a queue: the whole policy text, or a single statement."""

from __future__ import annotations

import json

from admin.actions.undo import offer
from admin.forms import Form
from admin.queue_form import version_of
from admin.visit import Done, Visit
from cqs.service import permissions, policy_reader, queues


async def save(visit: Visit, form: Form) -> Done:
    """The text becomes the policy. Raises BadInput, InvalidAttributeValue with the reason, and what
    `queues.change_settings` raises."""
    queue = visit.queue("SetQueueAttributes")
    text = form.text("policy").strip()
    if text:
        policy_reader.read(text)
        text = json.dumps(json.loads(text), ensure_ascii=False)
    version = version_of(form) if form.has("version") else None
    await queues.change_settings(visit.console.engine, queue, {"policy": text}, version)
    offer(visit, queue, f"The policy of {queue.name} was changed")
    said = "The policy is in effect." if text else "The queue has no policy now."
    return Done(said, visit.links.queue(queue, "policy"), target=queue.arn, detail=text)


async def add(visit: Visit, form: Form) -> Done:
    """Adds a statement that allows accounts some actions. Raises what `permissions.add` raises."""
    queue = visit.queue("AddPermission")
    accounts, actions = form.text("accounts").split(), form.all("actions")
    label = form.word("label")
    await permissions.add(visit.console.engine, queue, label, accounts, actions)
    offer(visit, queue, f"{label} was added to the policy of {queue.name}")
    detail = f"{label}: {', '.join(accounts)} may {', '.join(actions)}"
    return Done(f"{label} is in effect.", visit.links.queue(queue, "policy"), target=queue.arn, detail=detail)


async def remove(visit: Visit, form: Form) -> Done:
    """Removes a statement by its label. Raises what `permissions.remove` raises."""
    queue = visit.queue("RemovePermission")
    label = form.word("label")
    await permissions.remove(visit.console.engine, queue, label)
    offer(visit, queue, f"{label} was removed from the policy of {queue.name}")
    return Done(f"{label} was removed.", visit.links.queue(queue, "policy"), target=queue.arn, detail=label)
