"""ChangeMessageVisibility."""

from __future__ import annotations

from cqs.api.shapes.shape import Int32, Shape


class ChangeMessageVisibilityRequest(Shape, frozen=True, kw_only=True, gc=False):
    queue_url: str
    receipt_handle: str
    visibility_timeout: Int32
