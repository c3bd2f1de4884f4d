"""Changes a queue's settings and tags: only differences are written and logged."""

from __future__ import annotations

from admin import queue_form
from admin.actions.undo import offer
from admin.forms import Form
from admin.queue_form import version_of
from admin.visit import Done, Visit
from admin.wire_attributes import attributes_of
from cqs.queue import Queue
from cqs.service import queues, tags
from cqs.service.queue_edit import check_version


async def act(visit: Visit, form: Form) -> Done:
    """Raises BadInput, and what `queues.change_settings` and `tags.tag` raise."""
    queue = visit.queue("SetQueueAttributes")
    engine = visit.console.engine
    wanted = queue_form.read(form, queue.key, queue.region, is_fifo=queue.settings.is_fifo)
    if not form.has("policy"):
        del wanted["policy"]
    changes = queue_form.only_changes(queue.settings, wanted)
    new_tags = queue_form.read_tags(form.text("tags"))
    tags.check_new_tags(engine, new_tags)
    version = version_of(form)
    check_version(queue, version)
    changed = await queues.change_settings(engine, queue, changes, version) if changes else queue
    told = [f"{name}={text}" for name, text in attributes_of(changed.settings, frozenset(changes)).items()]
    gone, new = await _tag(visit, changed, new_tags)
    told += [f"-tag {key}" for key in gone] + [f"tag {key}={value}" for key, value in new.items()]
    offer(visit, queue, f"{queue.name} was changed: {', '.join(told)}", bool(changes) + bool(gone) + bool(new))
    text = "Saved." if told else "Nothing had changed."
    return Done(text, visit.links.queue(queue, "settings"), target=queue.arn, detail=", ".join(told))


async def _tag(visit: Visit, queue: Queue, wanted: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Which tags were removed, and which were added or changed."""
    engine = visit.console.engine
    gone = [key for key in queue.tags if key not in wanted]
    new = {key: value for key, value in wanted.items() if queue.tags.get(key) != value}
    if gone:
        visit.queue("UntagQueue")
        await tags.untag(engine, queue, gone)
    if new:
        visit.queue("TagQueue")
        await tags.tag(engine, queue, new)
    return gone, new
