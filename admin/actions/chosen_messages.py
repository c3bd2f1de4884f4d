"""What is done to chosen messages of a queue: deleted, made visible now, sent now instead of later, hidden for longer.

Each is a step of its own; one that is gone meanwhile, or in another state, is counted and told.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from admin.forms import BadInput, Form
from admin.queue_form import read_duration
from admin.visit import Done, Visit
from cqs import limits
from cqs.cache.interface import State
from cqs.errors import InvalidParameterValue, ResourceNotFound
from cqs.queue import Queue
from cqs.receipt import Receipt
from cqs.service import visibility
from cqs.service.engine import shard_of
from cqs.service.peek import Peeked, find
from cqs.service.resend import Edits, discard, resend

CHOSEN_MAX = 1_000
_VERBS = {"delete": "deleted", "reveal": "made visible", "hasten": "sent now", "hide": "hidden for longer"}
_NEEDS = {
    "delete": "DeleteMessage",
    "reveal": "ChangeMessageVisibility",
    "hasten": "ResendMessage",
    "hide": "ChangeMessageVisibility",
}
Do = Callable[[Visit, Queue, Peeked], Awaitable[None]]


async def act(visit: Visit, form: Form) -> Done:
    """Raises BadInput, AccessDenied, StoreUnavailable, OutcomeUnknown."""
    verb = form.chosen("do", "What to do", tuple(_VERBS))
    queue = visit.queue(_NEEDS[verb])
    wanted = list(dict.fromkeys(form.all("chosen")))
    if not 1 <= len(wanted) <= CHOSEN_MAX:
        raise BadInput(f"Choose 1 to {CHOSEN_MAX:,} messages.")
    do, grace = _do_of(verb, form), visit.console.grace
    path = visit.links.queue(queue, "messages") if len(wanted) == 1 and verb != "hide" else _back(visit, form, queue)
    if verb == "delete" and grace.is_on:

        async def work() -> str:
            await _each(visit, queue, wanted, do)
            return ""

        what = f"{_messages(len(wanted))} of {queue.name} will be deleted"
        grace.begin(what, queue.account, work)
        text = f"{what} in {grace.wait_s} seconds, unless received and deleted before."
    else:
        done = await _each(visit, queue, wanted, do)
        missed = len(wanted) - done
        text = f"{_messages(done)} {_VERBS[verb]}."
        if missed:
            text += f" {missed} {'was' if missed == 1 else 'were'} gone or in another state by then."
    return Done(text, path, target=queue.arn, detail=f"{verb}: {', '.join(wanted[:10])}")


async def _each(visit: Visit, queue: Queue, wanted: list[str], do: Do) -> int:
    """How many it could be done to."""
    done = 0
    for message_id in wanted:
        try:
            await do(visit, queue, await find(visit.console.engine, queue, message_id))
            done += 1
        except (ResourceNotFound, InvalidParameterValue):
            pass
    return done


def _messages(count: int) -> str:
    return f"{count} {'message' if count == 1 else 'messages'}"


def _back(visit: Visit, form: Form, queue: Queue) -> str:
    wanted = form.text("back")
    return wanted if visit.links.is_ours(wanted) else visit.links.queue(queue, "messages")


def _do_of(verb: str, form: Form) -> Do:
    if verb == "delete":
        return _delete
    if verb == "hasten":
        return _hasten
    hide_ms = 0
    if verb == "hide":
        hide_ms = read_duration(form.word("for"), "Hide for", 0, limits.VISIBILITY_S_MAX)

    async def change(visit: Visit, queue: Queue, found: Peeked) -> None:
        await _hide(visit, queue, found, hide_ms)

    return change


async def _delete(visit: Visit, queue: Queue, found: Peeked) -> None:
    await discard(visit.console.engine, queue, found.message.address)


async def _hasten(visit: Visit, queue: Queue, found: Peeked) -> None:
    """A delay can't be taken back, so the message is sent anew without one and the delayed one goes."""
    if found.state is not State.DELAYED:
        raise InvalidParameterValue("It is not delayed.")
    sender_id = visit.viewer.caller(queue.account).sender_id
    edits = Edits(delay_ms=0)
    message_id = found.message.message_id
    await resend(visit.console.engine, queue, queue, message_id, edits, sender_id, is_original_deleted=True)


async def _hide(visit: Visit, queue: Queue, found: Peeked, hide_ms: int) -> None:
    """With the lease that is alive: whoever holds it, loses or keeps it as if it had been changed by the receiver."""
    engine = visit.console.engine
    address = found.message.address
    entry = (await engine.cache.lookup(shard_of(queue), [address]))[0]
    if entry is None or entry.state is not State.IN_FLIGHT:
        raise InvalidParameterValue("It is not in flight.")
    receipt = Receipt(address, queue.uid, entry.receive_number, engine.clock.now_ms())
    await visibility.change(engine, queue, engine.receipts.write(receipt), hide_ms)
