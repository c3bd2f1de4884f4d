"""A queue: its name, its identity and its settings. Immutable; a change makes a new value with the next version.

Two numbers tell queues of one name apart. `uid` is drawn at creation and is part of every receipt handle, so a handle
of a deleted queue never works on its successor. `generation` counts purges. Together they make `storage_id`, under
which messages are stored and cached: a purge only moves the queue to the next storage id, in one small durable write,
and what lies under the old one is garbage that can be swept at leisure. (In Cassandra the new generation also starts
without a single tombstone.)
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

GENERATION_BITS = 15
UID_BITS = 48


class DedupScope(StrEnum):
    """Within what a deduplication id must be unique."""

    QUEUE = "queue"
    GROUP = "messageGroup"


class ThroughputLimit(StrEnum):
    QUEUE = "perQueue"
    GROUP = "perMessageGroupId"


class RedrivePermission(StrEnum):
    ALLOW_ALL = "allowAll"
    DENY_ALL = "denyAll"
    BY_QUEUE = "byQueue"


class QueueName(msgspec.Struct, frozen=True, order=True):
    """Which queue, as a user says it."""

    account: str
    name: str


class Redrive(msgspec.Struct, frozen=True):
    """RedrivePolicy: where a message goes that was received more than `receive_count_max` times."""

    target_arn: str
    receive_count_max: int


class RedriveAllow(msgspec.Struct, frozen=True):
    """RedriveAllowPolicy, set on a dead-letter queue: which queues may use it."""

    permission: RedrivePermission
    source_arns: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a user can set. Defaults are SQS's (sqs.md A2). Times in ms, sizes in bytes."""

    is_fifo: bool = False
    delay_ms: int = 0
    message_size_max: int = 1_048_576
    retention_ms: int = 345_600_000
    receive_wait_ms: int = 0
    visibility_ms: int = 30_000
    policy: str = ""
    redrive: Redrive | None = None
    redrive_allow: RedriveAllow | None = None
    kms_key_id: str = ""
    kms_reuse_s: int = 300
    is_sse_managed: bool = True
    is_content_dedup: bool = False
    dedup_scope: DedupScope = DedupScope.QUEUE
    throughput_limit: ThroughputLimit = ThroughputLimit.QUEUE


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """One queue as every layer below the doors sees it."""

    account: str
    name: str
    region: str
    uid: int
    generation: int = 0
    version: int = 0
    created_ms: int
    modified_ms: int
    purged_ms: int = 0
    settings: Settings = Settings()
    tags: dict[str, str] = {}

    @property
    def key(self) -> QueueName:
        return QueueName(self.account, self.name)

    @property
    def storage_id(self) -> int:
        """63 bits: under which messages are stored and cached."""
        return self.uid << GENERATION_BITS | self.generation

    @property
    def arn(self) -> str:
        return f"arn:aws:sqs:{self.region}:{self.account}:{self.name}"


def name_of_arn(arn: str) -> QueueName | None:
    """The queue an ARN `arn:aws:sqs:<region>:<account>:<name>` names; None when it is no queue ARN."""
    parts = arn.split(":", 6)
    if len(parts) != 6 or parts[0] != "arn" or parts[2] != "sqs" or not parts[4] or not parts[5]:
        return None
    return QueueName(parts[4], parts[5])
