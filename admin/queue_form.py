"""A queue's settings as a form, and back. Ranges are SQS's (`cqs.limits`); the service checks how settings fit together
and fit the queue's type and other queues.

    "4 d"  ──read──►  {"retention_ms": 345_600_000}  ──► queues.create / change_settings
    "4 d"  ◄─write──  Settings(retention_ms=345_600_000)

A duration is a number of seconds, or a number with s, m, h or d.
"""

from __future__ import annotations

import re

import msgspec

from admin.forms import BadInput, Form
from admin.redrive_form import read_allow, read_redrive, write_allow, write_redrive
from admin.viewer import Viewer
from cqs import limits
from cqs.queue import DedupScope, QueueName, Settings, ThroughputLimit
from cqs.service import policy_reader

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"([0-9]{1,9})\s*(s|m|min|h|d)?", re.IGNORECASE)
_KMS_KEY_MAX = 2_048
TAG_LINES_MAX = 200


def version_of(form: Form) -> int:
    """The queue's version when its page was rendered. Raises BadInput."""
    return form.number("version", "The page's version", 0, 1 << 40)


class Limit(msgspec.Struct, frozen=True):
    """A setting that is a duration or a size: its label, range (s or bytes) and meaning."""

    field: str
    label: str
    low: int
    high: int
    help: str
    is_time: bool = True

    @property
    def hint(self) -> str:
        low, high = (_shown(self.low), _shown(self.high)) if self.is_time else (f"{self.low:,}", f"{self.high:,}")
        return f"{self.help} {low} to {high}{'' if self.is_time else ' bytes'}."


LIMITS = (
    Limit("visibility_ms", "Visibility timeout", 0, limits.VISIBILITY_S_MAX, "How long a received message is hidden."),
    Limit("retention_ms", "Retention", limits.RETENTION_S_MIN, limits.RETENTION_S_MAX, "Older messages are deleted."),
    Limit("delay_ms", "Delivery delay", 0, limits.DELAY_S_MAX, "Time before a new message can be received."),
    Limit("receive_wait_ms", "Receive wait time", 0, limits.WAIT_S_MAX, "How long a receive waits by default."),
    Limit(
        "message_size_max",
        "Maximum message size",
        limits.MESSAGE_SIZE_SETTING_MIN,
        limits.MESSAGE_SIZE_MAX,
        "Body and attributes.",
        is_time=False,
    ),
)
KMS_REUSE = Limit("kms_reuse_s", "Key reuse", limits.KMS_REUSE_S_MIN, limits.KMS_REUSE_S_MAX, "Of a data key.")
ENCRYPTIONS = (("managed", "Managed by the server (SSE-SQS)"), ("kms", "A KMS key"), ("none", "Not declared"))
SCOPES = ((DedupScope.QUEUE.value, "Queue"), (DedupScope.GROUP.value, "Message group"))
THROUGHPUTS = ((ThroughputLimit.QUEUE.value, "Queue"), (ThroughputLimit.GROUP.value, "Message group"))


def write(settings: Settings) -> dict[str, str]:
    """What the form shows for these settings, by field name."""
    values = {one.field: _written(one, getattr(settings, one.field)) for one in LIMITS}
    encryption = "kms" if settings.kms_key_id else "managed" if settings.is_sse_managed else "none"
    return (
        values
        | write_redrive(settings.redrive)
        | write_allow(settings.redrive_allow)
        | {
            "is_fifo": "1" if settings.is_fifo else "",
            "policy": settings.policy,
            "encryption": encryption,
            "kms_key_id": settings.kms_key_id,
            "kms_reuse_s": _shown(settings.kms_reuse_s),
            "is_content_dedup": "1" if settings.is_content_dedup else "",
            "dedup_scope": settings.dedup_scope.value,
            "throughput_limit": settings.throughput_limit.value,
        }
    )


def read(form: Form, owner: QueueName, region: str, *, is_fifo: bool) -> dict[str, object]:
    """The fields of Settings that the form sets. Raises BadInput, InvalidAttributeValue (the policy)."""
    changes: dict[str, object] = {one.field: _read(form, one) for one in LIMITS}
    changes["redrive"] = read_redrive(form, owner, region)
    changes["redrive_allow"] = read_allow(form, owner, region)
    changes |= _encryption(form)
    policy = form.text("policy").strip()
    if policy:
        policy_reader.read(policy)
    changes["policy"] = policy
    if is_fifo:
        changes["is_content_dedup"] = form.is_on("is_content_dedup")
        changes["dedup_scope"] = DedupScope(form.chosen("dedup_scope", "Deduplication", tuple(DedupScope), "queue"))
        changes["throughput_limit"] = ThroughputLimit(
            form.chosen("throughput_limit", "Throughput limit", tuple(ThroughputLimit), "perQueue")
        )
    return changes


def only_changes(settings: Settings, wanted: dict[str, object]) -> dict[str, object]:
    """Without the values that are already set."""
    return {field: value for field, value in wanted.items() if getattr(settings, field) != value}


def read_tags(text: str) -> dict[str, str]:
    """One `key = value` per line. Raises BadInput."""
    tags: dict[str, str] = {}
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > TAG_LINES_MAX:
        raise BadInput(f"Tags: at most {limits.TAGS_MAX}.")
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip() in tags:
            raise BadInput(f"Tags: {key.strip()!r} is given twice.")
        tags[key.strip()] = value.strip()
    return tags


def write_tags(tags: dict[str, str]) -> str:
    return "\n".join(f"{key} = {value}" for key, value in sorted(tags.items()))


def read_duration(text: str, label: str, low_s: int, high_s: int) -> int:
    """Milliseconds. Raises BadInput."""
    match = _DURATION.fullmatch(text.strip())
    seconds = int(match[1]) * _UNITS[(match[2] or "s").lower()] if match else -1
    if not low_s <= seconds <= high_s:
        raise BadInput(f"{label}: {_shown(low_s)} to {_shown(high_s)} is needed, such as 90, 90 s, 15 m, 12 h or 4 d.")
    return seconds * 1_000


def may_own(viewer: Viewer, account: str) -> bool:
    """Whether queues can be created in that account."""
    return viewer.sees(account) and len(account) == 12 and account.isascii() and account.isdigit()


def _read(form: Form, one: Limit) -> int:
    if one.is_time:
        return read_duration(form.word(one.field), one.label, one.low, one.high)
    return form.number(one.field, one.label, one.low, one.high)


def _written(one: Limit, value: int) -> str:
    return _shown(value // 1_000) if one.is_time else str(value)


def _shown(seconds: int) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _encryption(form: Form) -> dict[str, object]:
    kind = form.chosen("encryption", "Encryption", tuple(key for key, _ in ENCRYPTIONS), "managed")
    key_id = form.word("kms_key_id")
    if kind == "kms" and (not key_id or len(key_id) > _KMS_KEY_MAX or limits.BAD_CHARACTER.search(key_id)):
        raise BadInput("Encryption: enter the ID of the KMS key.")
    if kind != "kms":
        return {"kms_key_id": "", "is_sse_managed": kind == "managed"}
    reuse_ms = read_duration(form.word("kms_reuse_s", "300"), KMS_REUSE.label, KMS_REUSE.low, KMS_REUSE.high)
    return {"kms_key_id": key_id, "is_sse_managed": False, "kms_reuse_s": reuse_ms // 1_000}
