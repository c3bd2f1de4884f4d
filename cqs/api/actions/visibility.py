"""ChangeMessageVisibility."""

from __future__ import annotations

from cqs.api.actions import parameters
from cqs.api.context import Context
from cqs.api.shapes.visibility import ChangeMessageVisibilityRequest
from cqs.service import visibility


async def change_message_visibility(context: Context, request: ChangeMessageVisibilityRequest) -> None:
    queue = await context.queue(request.queue_url)
    timeout_ms = parameters.visibility_ms(request.visibility_timeout)
    await visibility.change(context.engine, queue, request.receipt_handle, timeout_ms)
