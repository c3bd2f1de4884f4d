"""AddPermission, RemovePermission."""

from __future__ import annotations

from cqs.api.context import Context
from cqs.api.shapes.permissions import AddPermissionRequest, RemovePermissionRequest
from cqs.service import permissions


async def add_permission(context: Context, request: AddPermissionRequest) -> None:
    queue = await context.queue(request.queue_url)
    await permissions.add(context.engine, queue, request.label, request.aws_account_ids, request.actions)


async def remove_permission(context: Context, request: RemovePermissionRequest) -> None:
    queue = await context.queue(request.queue_url)
    await permissions.remove(context.engine, queue, request.label)
