"""A queue's settings under the API's names and in its text format, for snippets and exports."""

from __future__ import annotations

import json

from cqs.queue import Redrive, RedriveAllow, Settings
from cqs.service.queue_rules import WIRE_NAMES


def attributes_of(settings: Settings, fields: frozenset[str] | None = None) -> dict[str, str]:
    """The texts of these fields; None = all fields that differ from the defaults."""
    base = Settings()
    chosen = fields if fields is not None else frozenset(f for f in WIRE_NAMES if _differs(settings, base, f))
    return {name: _text(field, getattr(settings, field)) for field, name in WIRE_NAMES.items() if field in chosen}


def _differs(settings: Settings, base: Settings, field: str) -> bool:
    return bool(getattr(settings, field) != getattr(base, field))


def _text(field: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Redrive):
        policy = {"deadLetterTargetArn": value.target_arn, "maxReceiveCount": str(value.receive_count_max)}
        return json.dumps(policy)
    if isinstance(value, RedriveAllow):
        allow: dict[str, object] = {"redrivePermission": value.permission.value}
        return json.dumps(allow | ({"sourceQueueArns": list(value.source_arns)} if value.source_arns else {}))
    if isinstance(value, int):
        return str(value // 1_000 if field.endswith("_ms") else value)
    return str(value)
