"""What the extension actions take and answer: JSON protocol only, never AWS's (docs/extensions.md). Times are Unix
times in milliseconds."""

from __future__ import annotations

import msgspec

from cqs.api.shapes.messages import MessageAttributeValue
from cqs.api.shapes.queues import ListQueuesRequest
from cqs.api.shapes.shape import Int32, Output, Shape


class PeekMessagesRequest(Shape, frozen=True, kw_only=True, gc=False):
    """The filters must all hold."""

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
    """A message as it lies. `address` names it in GetMessage and ResendMessage, also when it was moved and `message_id`
    is that of its first queue; `visible_at` is when a delayed one or one in flight becomes visible, 0 = it is."""

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
    """`scanned` messages were looked at. A NextToken goes on, also when no message matched yet."""

    messages: list[PeekedMessage]
    scanned: int
    next_token: str = ""


class GetMessageRequest(Shape, frozen=True, kw_only=True, gc=False):
    """`message_id` or an address."""

    queue_url: str
    message_id: str


class GetMessageResult(Output, frozen=True, kw_only=True, gc=False):
    message: PeekedMessage


class ResendMessageRequest(Shape, frozen=True, kw_only=True, gc=False):
    """Members that are not given stay as they are. MessageAttributes replace all."""

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
    """`change`: delete, reveal, hide or hasten; hide wants `visibility_timeout`, in seconds from now."""

    queue_url: str
    message_ids: list[str]
    change: str
    visibility_timeout: Int32 | None = None


class ChangeMessagesResult(Output, frozen=True, kw_only=True, gc=False):
    """`missed` were gone, or in another state."""

    changed: int
    missed: list[str] = []


class DrainNodeRequest(Shape, frozen=True, kw_only=True, gc=False):
    """`draining` false takes the node in again."""

    draining: bool = True


class DrainNodeResult(Output, frozen=True, kw_only=True, gc=False):
    """`answered_receives` waited; `workers` are the processes of the node that heard of it."""

    draining: bool
    answered_receives: int
    workers: int


class HealthCheckRequest(Shape, frozen=True, kw_only=True, gc=False):
    pass


class HealthCheckResult(Output, frozen=True, kw_only=True, gc=False):
    status: str
    version: str


class GetNodeStatisticsRequest(Shape, frozen=True, kw_only=True, gc=False):
    """`chart_range` (5m, 10m, 1h, 6h, 1d, 7d) asks for a chart, of one queue when its URL is given."""

    queue_url: str | None = None
    chart_range: str | None = None


class ActionStatistics(Output, frozen=True, kw_only=True, gc=False):
    """Since the start. Seconds are the upper bounds of histogram buckets."""

    calls: int
    failures: dict[str, int] = {}
    median_seconds: float
    p99_seconds: float


class QueueStatistics(Output, frozen=True, kw_only=True, gc=False):
    """Counts of the last ten minutes, and how many messages there are now."""

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
    """A host of Cassandra, as the node's driver knows it. `up` null = the node asks others only, and was
    told nothing of it yet."""

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
    """Where the data lie; in memory both are empty."""

    hosts: list[StoreHost]
    files: list[StoreFile]


class Home(Output, frozen=True, kw_only=True, gc=False):
    """Which data centre serves the queue, since when; empty = none has yet."""

    data_center: str = ""
    since: int = 0


class GetNodeStatisticsResult(Output, frozen=True, kw_only=True, gc=False):
    """`totals` are those of the queue when one is asked for, else of the node. `data_center` is this node's, where the
    store has several; `home` is the queue's, then."""

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
    """ListQueues, as AWS has it, and one member more."""

    containing_messages_only: bool = False
