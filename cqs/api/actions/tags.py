"""TagQueue, UntagQueue, ListQueueTags."""

from __future__ import annotations

from cqs.api.context import Context
from cqs.api.shapes.tags import ListQueueTagsRequest, ListQueueTagsResult, TagQueueRequest, UntagQueueRequest
from cqs.errors import MissingParameter
from cqs.service import tags


async def tag_queue(context: Context, request: TagQueueRequest) -> None:
    queue = await context.queue(request.queue_url)
    if not request.tags:
        raise MissingParameter.named("Tags")
    await tags.tag(context.engine, queue, request.tags)


async def untag_queue(context: Context, request: UntagQueueRequest) -> None:
    queue = await context.queue(request.queue_url)
    if not request.tag_keys:
        raise MissingParameter.named("TagKeys")
    await tags.untag(context.engine, queue, request.tag_keys)


async def list_queue_tags(context: Context, request: ListQueueTagsRequest) -> ListQueueTagsResult:
    return ListQueueTagsResult(tags=(await context.queue(request.queue_url)).tags)
