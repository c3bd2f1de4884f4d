"""Statements of a queue's policy, by label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from cqs.api.shapes.shape import Shape


class AddPermissionRequest(Shape, frozen=True, kw_only=True, gc=False):
    QUERY_NAMES: ClassVar[Mapping[str, str]] = {"AWSAccountIds": "AWSAccountId", "Actions": "ActionName"}

    queue_url: str
    label: str
    aws_account_ids: list[str] = msgspec.field(name="AWSAccountIds")
    actions: list[str]


class RemovePermissionRequest(Shape, frozen=True, kw_only=True, gc=False):
    queue_url: str
    label: str
