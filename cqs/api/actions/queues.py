"""CreateQueue, GetQueueUrl, ListQueues, ListDeadLetterSourceQueues, GetQueueAttributes, SetQueueAttributes, PurgeQueue,
DeleteQueue."""

from __future__ import annotations

from cqs.api import attributes
from cqs.api.actions import parameters
from cqs.api.context import Context
from cqs.api.shapes.queues import (
    CreateQueueRequest,
    CreateQueueResult,
    DeleteQueueRequest,
    GetQueueAttributesRequest,
    GetQueueAttributesResult,
    GetQueueUrlRequest,
    GetQueueUrlResult,
    ListDeadLetterSourceQueuesRequest,
    ListDeadLetterSourceQueuesResult,
    ListQueuesRequest,
    ListQueuesResult,
    PurgeQueueRequest,
    SetQueueAttributesRequest,
)
from cqs.cache.counts import Counts
from cqs.errors import MissingParameter
from cqs.queue import QueueName
from cqs.service import counting, queues


async def create_queue(context: Context, request: CreateQueueRequest) -> CreateQueueResult:
    key = QueueName(context.caller.account, request.queue_name)
    changes = attributes.changes_of(request.attributes or {})
    queue = await queues.create(context.engine, key, changes, request.tags or {})
    return CreateQueueResult(queue_url=context.url_of(queue))


async def get_queue_url(context: Context, request: GetQueueUrlRequest) -> GetQueueUrlResult:
    account = request.queue_owner_aws_account_id or context.caller.account
    queue = await context.queue_named(QueueName(account, request.queue_name))
    return GetQueueUrlResult(queue_url=context.url_of(queue))


async def list_queues(context: Context, request: ListQueuesRequest) -> ListQueuesResult:
    """The queues of the caller's account."""
    found, token = queues.page(
        context.engine,
        context.caller.account,
        request.queue_name_prefix or "",
        request.next_token or "",
        parameters.page_limit(request.max_results),
    )
    return ListQueuesResult(queue_urls=[context.url_of(queue) for queue in found], next_token=token)


async def list_dead_letter_source_queues(
    context: Context, request: ListDeadLetterSourceQueuesRequest
) -> ListDeadLetterSourceQueuesResult:
    queue = await context.queue(request.queue_url)
    found, token = queues.dead_letter_sources(
        context.engine, queue, request.next_token or "", parameters.page_limit(request.max_results)
    )
    return ListDeadLetterSourceQueuesResult(queue_urls=[context.url_of(source) for source in found], next_token=token)


async def get_queue_attributes(context: Context, request: GetQueueAttributesRequest) -> GetQueueAttributesResult:
    queue = await context.queue(request.queue_url)
    names = attributes.names_of(request.attribute_names or ())
    counts = await counting.counts(context.engine, queue) if attributes.needs_counts(names) else Counts()
    return GetQueueAttributesResult(attributes=attributes.read(queue, names, counts))


async def set_queue_attributes(context: Context, request: SetQueueAttributesRequest) -> None:
    queue = await context.queue(request.queue_url)
    if not request.attributes:
        raise MissingParameter.named("Attribute.Name")
    await queues.change_settings(context.engine, queue, attributes.changes_of(request.attributes))


async def purge_queue(context: Context, request: PurgeQueueRequest) -> None:
    await queues.purge(context.engine, await context.queue(request.queue_url))


async def delete_queue(context: Context, request: DeleteQueueRequest) -> None:
    await queues.delete(context.engine, await context.queue(request.queue_url))
