"""PeekMessages, GetMessage, ResendMessage, ChangeMessages, HealthCheck, GetNodeStatistics, DrainNode; and ListQueues
limited to queues that hold messages."""

from __future__ import annotations

from cqs import digests, ids, limits
from cqs.api.actions import parameters, queues
from cqs.api.actions.message_attributes import attributes_of, wire_attributes
from cqs.api.actions.messages import sequence_text, system_attributes
from cqs.api.actions.node_statistics import node_statistics
from cqs.api.context import Context
from cqs.api.shapes.extensions import (
    ChangeMessagesRequest,
    ChangeMessagesResult,
    DrainNodeRequest,
    DrainNodeResult,
    GetMessageRequest,
    GetMessageResult,
    GetNodeStatisticsRequest,
    GetNodeStatisticsResult,
    HealthCheckRequest,
    HealthCheckResult,
    ListQueuesExtendedRequest,
    PeekedMessage,
    PeekMessagesRequest,
    PeekMessagesResult,
    ResendMessageRequest,
    ResendMessageResult,
)
from cqs.api.shapes.queues import ListQueuesResult
from cqs.cache.entry import State
from cqs.errors import InvalidParameterValue, MissingParameter
from cqs.queue import Queue
from cqs.service import chosen, drain, lookup, page_token, peek, resend, statistics
from cqs.service.peek import Filter, Peeked

_STATES = ", ".join(state.value for state in State)
_CHANGES = ", ".join(chosen.Change)


async def peek_messages(context: Context, request: PeekMessagesRequest) -> PeekMessagesResult:
    """Raises what `cqs.service.peek.peek` raises."""
    queue = await context.queue(request.queue_url)
    if request.attribute_value is not None and not request.attribute_name:
        raise MissingParameter.named("AttributeName")
    page = await peek.peek(
        context.engine,
        queue,
        _state_of(request.state),
        after=_after(request.next_token),
        count_max=peek.COUNT_DEFAULT if request.max_results is None else request.max_results,
        scan_max=peek.SCAN_DEFAULT if request.scan_limit is None else request.scan_limit,
        wanted=Filter(
            text=request.contains_text or None,
            message_id=request.message_id or None,
            group=request.message_group_id or None,
            attribute=request.attribute_name or None,
            attribute_value=request.attribute_value,
        ),
    )
    return PeekMessagesResult(
        messages=[_shown(one) for one in page.found],
        scanned=page.scanned,
        next_token="" if page.after is None else ids.text_of(page.after),
    )


async def get_message(context: Context, request: GetMessageRequest) -> GetMessageResult:
    queue = await context.queue(request.queue_url)
    return GetMessageResult(message=_shown(await peek.find(context.engine, queue, request.message_id)))


async def resend_message(context: Context, request: ResendMessageRequest) -> ResendMessageResult:
    """Requires permission to send to the destination and, for `DeleteOriginal`, to delete from the queue."""
    source = await context.queue(request.queue_url)
    target = await _destination(context, request.destination_queue_url) if request.destination_queue_url else source
    context.access.authorize(context.caller, "SendMessage", target)
    if request.delete_original:
        context.access.authorize(context.caller, "DeleteMessage", source)
    given = request.message_attributes
    edits = resend.Edits(
        body=request.message_body,
        attributes=None if given is None else attributes_of(given),
        delay_ms=parameters.delay_ms(request.delay_seconds),
        group=request.message_group_id,
        dedup_id=request.message_deduplication_id,
    )
    resent = await resend.resend(
        context.engine,
        source,
        target,
        request.message_id,
        edits,
        context.caller.sender_id,
        is_original_deleted=request.delete_original,
    )
    return ResendMessageResult(
        message_id=resent.sent.message_id,
        md5_of_message_body=resent.sent.md5_of_body,
        sequence_number=sequence_text(resent.sent.sequence),
        original_deleted=resent.is_original_deleted,
    )


async def change_messages(context: Context, request: ChangeMessagesRequest) -> ChangeMessagesResult:
    """Requires permission to do the same with a receipt handle, or (hasten) to resend. Raises what `chosen.change`
    raises."""
    queue = await context.queue(request.queue_url)
    what = _change_of(request.change)
    context.access.authorize(context.caller, chosen.PERMISSION_OF[what], queue)
    wanted = list(dict.fromkeys(request.message_ids))
    if not 1 <= len(wanted) <= chosen.CHOSEN_MAX:
        raise InvalidParameterValue.of(len(wanted), "MessageIds", f"Must be 1 to {chosen.CHOSEN_MAX} ids.")
    hide_ms = 0
    if what is chosen.Change.HIDE:
        hide_ms = _hide_ms(request.visibility_timeout)
    missed = await chosen.change(context.engine, queue, wanted, what, context.caller.sender_id, hide_ms)
    return ChangeMessagesResult(changed=len(wanted) - len(missed), missed=missed)


async def health_check(context: Context, request: HealthCheckRequest) -> HealthCheckResult:
    """503 when a part of the server does not respond."""
    await statistics.check_health(context.engine)
    return HealthCheckResult(status="ok", version=context.engine.metrics.build.version)


async def drain_node(context: Context, request: DrainNodeRequest) -> DrainNodeResult:
    """Drains the node that is asked, or puts it back into service. Idempotent."""
    done = await (drain.drain if request.draining else drain.resume)(context.engine)
    return DrainNodeResult(draining=request.draining, answered_receives=done.answered, workers=done.workers)


async def get_node_statistics(context: Context, request: GetNodeStatisticsRequest) -> GetNodeStatisticsResult:
    """Statistics of this node, or of one queue as this node sees it."""
    return await node_statistics(context, request)


async def list_queues(context: Context, request: ListQueuesExtendedRequest) -> ListQueuesResult:
    """As on AWS; `ContainingMessagesOnly` omits empty queues."""
    if not request.containing_messages_only:
        return await queues.list_queues(context, request)
    limit = parameters.page_limit(request.max_results)
    after = page_token.read(request.next_token or "")
    prefix = request.queue_name_prefix or ""
    found, is_more = await peek.with_messages(context.engine, context.caller.account, prefix, after, limit)
    token = page_token.write(found[-1].name) if is_more else ""
    return ListQueuesResult(queue_urls=[context.url_of(queue) for queue in found], next_token=token)


async def _destination(context: Context, url: str) -> Queue:
    """The queue of the URL, if the caller may send to it."""
    return await lookup.find(context.engine, context.name_of(url))


def _state_of(name: str) -> State:
    try:
        return State(name)
    except ValueError as error:
        raise InvalidParameterValue.of(name[:100], "State", f"Must be one of {_STATES}.") from error


def _change_of(name: str) -> chosen.Change:
    try:
        return chosen.Change(name)
    except ValueError as error:
        raise InvalidParameterValue.of(name[:100], "Change", f"Must be one of {_CHANGES}.") from error


def _hide_ms(timeout_s: int | None) -> int:
    if timeout_s is None:
        raise MissingParameter.named("VisibilityTimeout")
    if not 0 <= timeout_s <= limits.VISIBILITY_S_MAX:
        raise InvalidParameterValue.of(timeout_s, "VisibilityTimeout", f"Must be 0 to {limits.VISIBILITY_S_MAX}.")
    return timeout_s * 1_000


def _after(token: str | None) -> int | None:
    if not token:
        return None
    address = ids.parse(token)
    if address is None:
        raise InvalidParameterValue.of(token[:100], "NextToken", "It is not a token of this service.")
    return address


def _shown(peeked: Peeked) -> PeekedMessage:
    message = peeked.message
    return PeekedMessage(
        message_id=message.message_id,
        address=ids.text_of(message.address),
        state=peeked.state.value,
        visible_at=peeked.visible_ms,
        md5_of_body=digests.of_body(message),
        body=message.body,
        size=message.size,
        attributes=system_attributes(message, peeked.receive_count, peeked.first_receive_ms),
        message_attributes=wire_attributes(message.attributes),
    )
