"""Every metric, declared once: `/metrics`, docs/metrics.md, the dashboard and the alerts use only these names.

Names follow Prometheus: prefix `cqs_`, base units, `_total` for counters. The help includes CloudWatch's name where
there is one. A metric with the labels `account` and `queue` has a series for each admitted queue and one, `_other`, for
all others (`cqs.metrics.queue_table`).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

QUEUE_LABELS = ("account", "queue")


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Scope(StrEnum):
    """What a metric covers."""

    NODE = "node"
    """This process; sum over the nodes."""
    SHARED = "shared"
    """State shared by all nodes; one exports it (one per data centre, of queues), so that sums over nodes are right."""


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric. `name` is the name in a scrape, including `_total`; `word` is CloudWatch's name, "" = none; `bounds`
    are the upper bounds of a histogram's buckets in the base unit."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    word: str = ""
    scope: Scope = Scope.NODE
    bounds: tuple[float, ...] = ()

    @property
    def documentation(self) -> str:
        return f"{self.help} CloudWatch: {self.word}." if self.word else self.help


ALL: list[Metric] = []
"""In the order of declaration."""


def _declare(name: str, kind: Kind, help_text: str, *, labels: tuple[str, ...] = (), word: str = "",
             scope: Scope = Scope.NODE, bounds: tuple[float, ...] = ()) -> Metric:  # fmt: skip
    metric = Metric(name=name, kind=kind, help=help_text, labels=labels, word=word, scope=scope, bounds=bounds)
    ALL.append(metric)
    return metric


def _of_queue(name: str, help_text: str, word: str = "") -> Metric:
    return _declare(f"cqs_{name}_total", Kind.COUNTER, help_text, labels=QUEUE_LABELS, word=word)


def _depth(name: str, help_text: str, word: str = "") -> Metric:
    return _declare(f"cqs_{name}", Kind.GAUGE, help_text, labels=QUEUE_LABELS, word=word, scope=Scope.SHARED)


def _seconds(name: str, help_text: str, *labels: str, bounds: tuple[float, ...]) -> Metric:
    return _declare(f"cqs_{name}_seconds", Kind.HISTOGRAM, help_text, labels=labels, bounds=bounds)


QUEUE_COUNTERS: dict[str, Metric] = {
    "sent": _of_queue("messages_sent", "Messages sent.", "NumberOfMessagesSent"),
    "received": _of_queue(
        "messages_received", "Messages delivered to receivers; each delivery counts.", "NumberOfMessagesReceived"
    ),
    "deleted": _of_queue("messages_deleted", "Messages deleted by receivers.", "NumberOfMessagesDeleted"),
    "empty_receives": _of_queue(
        "empty_receives", "Receives that returned no message, including long polls.", "NumberOfEmptyReceives"
    ),
    "deduplicated": _of_queue(
        "messages_deduplicated",
        "Sends that were duplicates by deduplication id; FIFO queues.",
        "NumberOfDeduplicatedSentMessages",
    ),
    "from_store": _of_queue(
        "messages_from_store", "Messages received from the store because the cache was unavailable (fallback)."
    ),
    "bodies_from_store": _of_queue(
        "bodies_from_store", "Messages taken from the cache whose body was only in the store."
    ),
    "given_back": _of_queue(
        "messages_given_back", "Messages made visible again, uncounted, because the receiver had disconnected."
    ),
    "hidden": _of_queue("visibility_changes", "Visibility timeouts changed by receivers."),
    "revealed": _of_queue(
        "messages_revealed", "Messages that became visible because a visibility timeout or a delay ended."
    ),
    "expired": _of_queue("messages_expired", "Messages deleted at the end of their retention period."),
    "dead_lettered": _of_queue("messages_dead_lettered", "Messages moved from this queue to its dead-letter queue."),
    "redriven": _of_queue("messages_redriven", "Messages moved from this queue by message move tasks."),
    "arrived": _of_queue("messages_arrived", "Messages that were moved to this queue rather than sent to it."),
    "purges": _of_queue("purges", "Purges of the queue."),
}
"""By the field of `QueueStats` that feeds them."""

SIZE_BITS = (10, 12, 14, 16, 18, 20)
MESSAGE_SIZE = _declare(
    "cqs_message_size_bytes", Kind.HISTOGRAM, "Size of sent messages, including attributes.", labels=QUEUE_LABELS,
    word="SentMessageSize", bounds=tuple(float(1 << bits) for bits in SIZE_BITS),
)  # fmt: skip

QUEUE_VISIBLE = _depth("messages_visible", "Messages available for receiving.", "ApproximateNumberOfMessagesVisible")
QUEUE_IN_FLIGHT = _depth(
    "messages_in_flight",
    "Messages in flight: received, hidden and not deleted.",
    "ApproximateNumberOfMessagesNotVisible",
)
QUEUE_DELAYED = _depth(
    "messages_delayed", "Delayed messages that are not available yet.", "ApproximateNumberOfMessagesDelayed"
)
QUEUE_OLDEST = _depth(
    "oldest_message_age_seconds",
    "Age of the oldest visible message, ignoring messages received three times or more. 0 = none.",
    "ApproximateAgeOfOldestMessage",
)
QUEUE_RETENTION = _depth("retention_seconds", "Retention period of the queue; older messages are deleted.")
QUEUE_GROUPS = _depth(
    "groups_in_flight",
    "Message groups with messages in flight; FIFO queues.",
    "ApproximateNumberOfGroupsWithInflightMessages",
)
QUEUE_NOISY = _depth(
    "noisy_groups",
    "Tenants (message groups) that use more than their share; standard queues.",
    "ApproximateNumberOfNoisyGroups",
)
QUEUE_DEAD_LETTER = _depth("dead_letter_queue", "1 for queues that are the dead-letter queue of another queue.")
QUEUES = _declare("cqs_queues", Kind.GAUGE, "Number of queues.", scope=Scope.SHARED)
MOVE_TASKS = _declare("cqs_move_tasks", Kind.GAUGE, "Unfinished message move tasks.", scope=Scope.SHARED)
STORE_SIZE = _declare("cqs_store_size_bytes", Kind.GAUGE, "Size of the SQLite files.", scope=Scope.SHARED)
JOURNAL_MISSING = _declare(
    "cqs_journal_missing_events_total",
    Kind.COUNTER,
    "Events that are missing in this node's event journal; above 0, an audit is unproven. Only with "
    "journal = sampled or full.",
)

_CALL_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 20.0)
_CACHE_BOUNDS = (0.00001, 0.000025, 0.0001, 0.00025, 0.001, 0.0025, 0.01, 0.05, 0.25, 1.0)
_STORE_BOUNDS = (0.0001, 0.00025, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
REQUESTS = _declare(
    "cqs_requests_total",
    Kind.COUNTER,
    "API calls by action (none: no known action was named) and error code; ok = success.",
    labels=("action", "code"),
)
REQUEST_SECONDS = _seconds(
    "request_duration", "From reading a request to having its response; includes long polls.", "action",
    bounds=_CALL_BOUNDS,
)  # fmt: skip
CACHE_SECONDS = _seconds("cache_duration", "Duration of successful calls to the cache.", "call", bounds=_CACHE_BOUNDS)
CACHE_ERRORS = _declare("cqs_cache_errors_total", Kind.COUNTER, "Failed calls to the cache.", labels=("call",))
STORE_SECONDS = _seconds(
    "store_duration", "Duration of successful calls to the store, including the wait for the commit.", "call",
    bounds=_STORE_BOUNDS,
)  # fmt: skip
STORE_ERRORS = _declare("cqs_store_errors_total", Kind.COUNTER, "Failed calls to the store.", labels=("call",))
COMMIT_JOBS = _declare(
    "cqs_commit_jobs", Kind.HISTOGRAM, "Number of writes in one commit; SQLite.",
    bounds=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0),
)  # fmt: skip
COMMIT_WAIT = _seconds(
    "commit_wait", "How long the first write of a commit waited for it to start; SQLite.", bounds=_STORE_BOUNDS
)
COMMIT_SECONDS = _seconds(
    "commit_duration", "Duration of commits, including the disk sync; SQLite.", bounds=_STORE_BOUNDS
)

FILL_SECONDS = _seconds(
    "fill_duration",
    "Time to fill the cache with the messages of one queue.",
    bounds=(0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 20.0, 60.0),
)
DUE_LAG = _seconds(
    "due_lag", "How late messages whose delay or visibility timeout had ended were looked for.",
    bounds=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0),
)  # fmt: skip
SWEEP_FOUND = _declare(
    "cqs_sweep_found_messages_total",
    Kind.COUNTER,
    "Messages that this node's sweeps found only in the store and restored; should be 0.",
)
DIRTY = _declare("cqs_dirty_shards", Kind.GAUGE, "Queues served from the store until their cache is repaired.")
STORE_TROUBLE = _declare(
    "cqs_store_out_of_reach",
    Kind.GAUGE,
    "1 while this node's heartbeats do not reach Cassandra: some or all sends and receives fail.",
)
STORE_LOST = _declare(
    "cqs_store_hosts_lost",
    Kind.GAUGE,
    "Unreachable Cassandra hosts, of all data centres, as far as this node's driver knows.",
)
CACHE_TROUBLE = _declare(
    "cqs_cache_servers_in_trouble",
    Kind.GAUGE,
    "Redis servers that are unreachable, misconfigured or full; the store serves their queues, at least in part.",
)

WAITERS = _declare("cqs_waiting_receives", Kind.GAUGE, "Long polls waiting for messages.")
CONNECTIONS = _declare("cqs_connections", Kind.GAUGE, "Open client connections.")
REQUEST_BYTES = _declare(
    "cqs_request_bytes", Kind.GAUGE, "Bytes of requests being received or served, beyond 16 kB per connection."
)
CROWDED_OUT = _declare(
    "cqs_requests_crowded_out_total",
    Kind.COUNTER,
    "Requests rejected because request_memory was exceeded; should be 0.",
)
UNREAD_BYTES = _declare("cqs_unread_answer_bytes", Kind.GAUGE, "Bytes of responses that clients have not read yet.")
CUT_OFF = _declare(
    "cqs_unread_answers_cut_off_total",
    Kind.COUNTER,
    "Clients disconnected because they did not read their responses; should be 0.",
)
HIT_RATIO = _declare(
    "cqs_cache_hit_ratio",
    Kind.GAUGE,
    "Share of received messages that the cache served in the last ten minutes; 1 = all.",
)
LOOP_LAG = _seconds(
    "event_loop_lag", "Event loop lag: how late the event loop runs a timer.",
    bounds=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0),
)  # fmt: skip
WORKERS = _declare(
    "cqs_workers", Kind.GAUGE, "Processes of this server. A scrape of fewer lacks those that did not answer within 3 s."
)
QUEUE_SERIES = _declare(
    "cqs_queue_series", Kind.GAUGE, "Queues with series of their own; the others are counted under _other."
)
LEADER = _declare(
    "cqs_leader", Kind.GAUGE, "1 if this node is the leader, which exports the metrics of what all nodes share."
)
BUILD_INFO = _declare(
    "cqs_build_info",
    Kind.GAUGE,
    "Always 1; the labels name the versions and backends.",
    labels=("version", "python", "store", "cache"),
)
