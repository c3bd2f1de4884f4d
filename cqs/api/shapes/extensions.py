"""Input and output of the extension actions: JSON protocol only, not part of AWS's API (docs/extensions.md). Times are
Unix times in milliseconds."""

from __future__ import annotations

import msgspec

from cqs.api.shapes.messages import MessageAttributeValue
from cqs.api.shapes.queues import ListQueuesRequest
from cqs.api.shapes.shape import Int32, Output, Shape


class PeekMessagesRequest(Shape, frozen=True, kw_only=True, gc=False):
    """A message must match all filters."""

    queue_url: str
    state: str = "ready"
    max_results: Int32 | None = None
    next_token: str | None = None
    scan_limit: Int32 | None = None
    contains_text: str | None = None
    message_id: str | None = None
    message_group_id: str | None = None
    attribute_name: str | None = None
    attribute_value: str | None = None


class PeekedMessage(Output, frozen=True, kw_only=True, gc=False):
    """A message as stored. `address` identifies it in GetMessage and ResendMessage, even after a move, when
    `message_id` is still that of its first queue; `visible_at` is when a delayed or in-flight message becomes visible,
    0 = it is visible."""

    message_id: str
    address: str
    state: str
    visible_at: int = 0
    md5_of_body: str = msgspec.field(name="MD5OfBody")
    body: str
    size: int
    attributes: dict[str, str] = {}
    message_attributes: dict[str, MessageAttributeValue] = {}


class PeekMessagesResult(Output, frozen=True, kw_only=True, gc=False):
    """`scanned` messages were examined. With a NextToken there may be more, even if no message has matched yet."""

    messages: list[PeekedMessage]
    scanned: int
    next_token: str = ""


class GetMessageRequest(Shape, frozen=True, kw_only=True, gc=False):
    """`message_id`: a message ID or an address."""

    queue_url: str
    message_id: str


class GetMessageResult(Output, frozen=True, kw_only=True, gc=False):
    message: PeekedMessage


class ResendMessageRequest(Shape, frozen=True, kw_only=True, gc=False):
    """Omitted members keep their values. MessageAttributes replaces all attributes."""

    queue_url: str
    message_id: str
    destination_queue_url: str | None = None
    delete_original: bool = False
    message_body: str | None = None
    message_attributes: dict[str, MessageAttributeValue] | None = None
    delay_seconds: Int32 | None = None
    message_group_id: str | None = None
    message_deduplication_id: str | None = None


class ResendMessageResult(Output, frozen=True, kw_only=True, gc=False):
    message_id: str
    md5_of_message_body: str = msgspec.field(name="MD5OfMessageBody")
    sequence_number: str = ""
    original_deleted: bool


class ChangeMessagesRequest(Shape, frozen=True, kw_only=True, gc=False):
    """`change`: delete, reveal, hide or hasten; hide requires `visibility_timeout`, in seconds from now."""

    queue_url: str
    message_ids: list[str]
    change: str
    visibility_timeout: Int32 | None = None


class ChangeMessagesResult(Output, frozen=True, kw_only=True, gc=False):
    """`missed` messages were gone, or in another state."""

    changed: int
    missed: list[str] = []


class DrainNodeRequest(Shape, frozen=True, kw_only=True, gc=False):
    """`draining` false puts the node back into service."""

    draining: bool = True


class DrainNodeResult(Output, frozen=True, kw_only=True, gc=False):
    """`answered_receives` were waiting; `workers` are the node's processes that were drained."""

    draining: bool
    answered_receives: int
    workers: int


class HealthCheckRequest(Shape, frozen=True, kw_only=True, gc=False):
    pass


class HealthCheckResult(Output, frozen=True, kw_only=True, gc=False):
    status: str
    version: str


class GetNodeStatisticsRequest(Shape, frozen=True, kw_only=True, gc=False):
    """`chart_range` (5m, 10m, 1h, 6h, 1d, 7d) requests a chart; with a queue URL, of that queue."""

    queue_url: str | None = None
    chart_range: str | None = None


class ActionStatistics(Output, frozen=True, kw_only=True, gc=False):
    """Since the node started. Seconds are upper bounds of histogram buckets."""

    calls: int
    failures: dict[str, int] = {}
    median_seconds: float
    p99_seconds: float


class QueueStatistics(Output, frozen=True, kw_only=True, gc=False):
    """Counts over the last ten minutes, and the current number of messages."""

    sent: int
    received: int
    deleted: int
    empty_receives: int
    cache_hit_ratio: float
    visible: int
    in_flight: int
    delayed: int
    oldest_message_age: float
    waiting_receives: int


class Chart(Output, frozen=True, kw_only=True, gc=False):
    """Point i is the period that starts at `start` + i * `period` (Unix time and length in seconds); its values are in
    the order of `fields`, null = not sampled."""

    fields: list[str]
    start: int
    period: int
    points: list[list[float | None]]


class StoreHost(Output, frozen=True, kw_only=True, gc=False):
    """A Cassandra host, as the node's driver sees it. `up` null = the node does not connect to this host and has not
    been notified of its state yet."""

    address: str
    data_center: str
    rack: str
    version: str
    up: bool | None


class StoreFile(Output, frozen=True, kw_only=True, gc=False):
    """A file of the embedded store."""

    path: str
    size_bytes: int


class StorePlaces(Output, frozen=True, kw_only=True, gc=False):
    """Where the data is stored; both are empty for an in-memory store."""

    hosts: list[StoreHost]
    files: list[StoreFile]


class Home(Output, frozen=True, kw_only=True, gc=False):
    """Which data centre serves the queue, and since when; empty = none yet."""

    data_center: str = ""
    since: int = 0


class GetNodeStatisticsResult(Output, frozen=True, kw_only=True, gc=False):
    """`totals` cover the queue if one is requested, else the node. Where the store has several data centres,
    `data_center` is this node's, and `home` is the queue's."""

    version: str
    data_center: str = ""
    home: Home | None = None
    started_timestamp: int
    queues: int
    connections: int
    totals: QueueStatistics
    actions: dict[str, ActionStatistics] = {}
    store: StorePlaces | None = None
    chart: Chart | None = None


class ListQueuesExtendedRequest(ListQueuesRequest, frozen=True, kw_only=True, gc=False):
    """AWS's ListQueues, with one additional member."""

    containing_messages_only: bool = False
