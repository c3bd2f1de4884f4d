"""A queue: its name, identity and settings. Immutable; a change creates a new value with the next version.

Two numbers distinguish queues of the same name. `uid` is drawn at creation and is part of every receipt handle, so a
handle of a deleted queue never works on its successor. `generation` counts purges. Together they form `storage_id`,
under which messages are stored and cached. A purge only switches the queue to the next storage id, in one small durable
write; what is stored under the old one is garbage to be removed later. (In Cassandra the new generation also starts
without any tombstones.)
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

GENERATION_BITS = 15
UID_BITS = 48


class DedupScope(StrEnum):
    """The scope in which a deduplication id must be unique."""

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
    """A queue's account and name."""

    account: str
    name: str


class Redrive(msgspec.Struct, frozen=True):
    """RedrivePolicy: the dead-letter queue of messages that were received `receive_count_max` times."""

    target_arn: str
    receive_count_max: int


class RedriveAllow(msgspec.Struct, frozen=True):
    """RedriveAllowPolicy of a dead-letter queue: which queues may use it."""

    permission: RedrivePermission
    source_arns: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The attributes that a user can set. Defaults are SQS's (sqs.md A2). Times in ms, sizes in bytes."""

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
    """A queue as used by every layer below the API."""

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
        """63 bits; messages are stored and cached under it."""
        return self.uid << GENERATION_BITS | self.generation

    @property
    def arn(self) -> str:
        return f"arn:aws:sqs:{self.region}:{self.account}:{self.name}"


def name_of_arn(arn: str) -> QueueName | None:
    """The queue that an ARN `arn:aws:sqs:<region>:<account>:<name>` names; None if it is not a queue ARN."""
    parts = arn.split(":", 6)
    if len(parts) != 6 or parts[0] != "arn" or parts[2] != "sqs" or not parts[4] or not parts[5]:
        return None
    return QueueName(parts[4], parts[5])
