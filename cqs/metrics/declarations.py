"""Every metric, declared once: `/metrics`, docs/metrics.md, the dashboard and the alerts know no other names.

Names follow Prometheus: prefix `cqs_`, base units, `_total` for what only grows. The help says CloudWatch's word where
there is one. A metric with the labels `account` and `queue` has a series for each admitted queue and one, `_other`, for
all the rest (`cqs.metrics.queue_table`).
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
    """Whose numbers they are."""

    NODE = "node"
    """This process's; sum over the nodes."""
    SHARED = "shared"
    """Of what all nodes share; only the leading node tells, so that sums over nodes are right."""


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric. `name` is what a scrape shows, `_total` included; `word` is CloudWatch's name, "" = it has none;
    `bounds` are the upper bounds of a histogram's buckets in the base unit."""

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
        "messages_received", "Messages handed to receivers, each time counted.", "NumberOfMessagesReceived"
    ),
    "deleted": _of_queue("messages_deleted", "Messages deleted by receivers.", "NumberOfMessagesDeleted"),
    "empty_receives": _of_queue(
        "empty_receives", "Receives answered without a message, long polls included.", "NumberOfEmptyReceives"
    ),
    "deduplicated": _of_queue(
        "messages_deduplicated",
        "Sends answered with the first message of their deduplication id; FIFO queues.",
        "NumberOfDeduplicatedSentMessages",
    ),
    "from_store": _of_queue(
        "messages_from_store", "Messages received from the store because the cache could not serve (fallback)."
    ),
    "bodies_from_store": _of_queue(
        "bodies_from_store", "Messages taken from the cache whose body lay only in the store."
    ),
    "given_back": _of_queue("messages_given_back", "Messages made ready again, uncounted: the receiver was gone."),
    "hidden": _of_queue("visibility_changes", "Visibility timeouts changed by receivers."),
    "revealed": _of_queue("messages_revealed", "Messages made ready: a timeout ran out or a delay came due."),
    "expired": _of_queue("messages_expired", "Messages dropped at the end of their retention period, unreceived."),
    "dead_lettered": _of_queue(
        "messages_dead_lettered", "Messages moved from this queue to its dead-letter queue, received too often."
    ),
    "redriven": _of_queue("messages_redriven", "Messages moved from this queue by move tasks."),
    "arrived": _of_queue("messages_arrived", "Messages that came to this queue by a move, not by a send."),
    "purges": _of_queue("purges", "Purges of the queue."),
}
"""By the field of `QueueStats` that feeds them."""

SIZE_BITS = (10, 12, 14, 16, 18, 20)
MESSAGE_SIZE = _declare(
    "cqs_message_size_bytes", Kind.HISTOGRAM, "Size of sent messages, attributes included.", labels=QUEUE_LABELS,
    word="SentMessageSize", bounds=tuple(float(1 << bits) for bits in SIZE_BITS),
)  # fmt: skip

QUEUE_VISIBLE = _depth("messages_visible", "Messages ready to be received.", "ApproximateNumberOfMessagesVisible")
QUEUE_IN_FLIGHT = _depth("messages_in_flight", "Messages received and hidden.", "ApproximateNumberOfMessagesNotVisible")
QUEUE_DELAYED = _depth("messages_delayed", "Messages sent and not due yet.", "ApproximateNumberOfMessagesDelayed")
QUEUE_OLDEST = _depth(
    "oldest_message_age_seconds",
    "Age of the oldest ready message; those received three times or more do not count. 0 = none.",
    "ApproximateAgeOfOldestMessage",
)
QUEUE_RETENTION = _depth("retention_seconds", "After this age a message of the queue is dropped.")
QUEUE_GROUPS = _depth(
    "groups_in_flight",
    "Message groups with messages in flight; FIFO queues.",
    "ApproximateNumberOfGroupsWithInflightMessages",
)
QUEUE_NOISY = _depth(
    "noisy_groups", "Tenants that use more than their share; standard queues.", "ApproximateNumberOfNoisyGroups"
)
QUEUE_DEAD_LETTER = _depth("dead_letter_queue", "1 for queues that are another queue's dead-letter queue.")
QUEUES = _declare("cqs_queues", Kind.GAUGE, "Queues that exist.", scope=Scope.SHARED)
MOVE_TASKS = _declare("cqs_move_tasks", Kind.GAUGE, "Message move tasks that are not finished.", scope=Scope.SHARED)
STORE_SIZE = _declare("cqs_store_size_bytes", Kind.GAUGE, "Size of the store's files.", scope=Scope.SHARED)
JOURNAL_MISSING = _declare(
    "cqs_journal_missing_events",
    Kind.GAUGE,
    "Events since the start that are not in this node's event journal; above 0, an audit is unproven.",
)

_CALL_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 20.0)
_CACHE_BOUNDS = (0.00001, 0.000025, 0.0001, 0.00025, 0.001, 0.0025, 0.01, 0.05, 0.25, 1.0)
_STORE_BOUNDS = (0.0001, 0.00025, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
REQUESTS = _declare(
    "cqs_requests_total", Kind.COUNTER, "API calls by action and error code; ok = success.", labels=("action", "code")
)
REQUEST_SECONDS = _seconds(
    "request_duration", "From the request read to the answer made; a receive includes its long poll.", "action",
    bounds=_CALL_BOUNDS,
)  # fmt: skip
CACHE_SECONDS = _seconds("cache_duration", "Calls of the cache that succeeded.", "call", bounds=_CACHE_BOUNDS)
CACHE_ERRORS = _declare("cqs_cache_errors_total", Kind.COUNTER, "Calls of the cache that failed.", labels=("call",))
STORE_SECONDS = _seconds(
    "store_duration", "Calls of the store that succeeded, waiting for the commit included.", "call",
    bounds=_STORE_BOUNDS,
)  # fmt: skip
STORE_ERRORS = _declare("cqs_store_errors_total", Kind.COUNTER, "Calls of the store that failed.", labels=("call",))
COMMIT_JOBS = _declare(
    "cqs_commit_jobs", Kind.HISTOGRAM, "Writes that shared one commit.",
    bounds=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0),
)  # fmt: skip
COMMIT_WAIT = _seconds("commit_wait", "How long a commit's first write waited for it to start.", bounds=_STORE_BOUNDS)
COMMIT_SECONDS = _seconds("commit_duration", "Commits, the disk's sync included.", bounds=_STORE_BOUNDS)

FILL_SECONDS = _seconds(
    "fill_duration",
    "Filling the cache with the messages of one queue.",
    bounds=(0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 20.0, 60.0),
)
DUE_LAG = _seconds(
    "due_lag", "How much later than due the first of the due messages were looked for.",
    bounds=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0),
)  # fmt: skip
SWEEP_FOUND = _declare(
    "cqs_sweep_found_messages",
    Kind.GAUGE,
    "Messages that this node's sweeps found in the store alone and put back, since the start; should be 0.",
)
DIRTY = _declare("cqs_dirty_shards", Kind.GAUGE, "Queues served from the store until the cache is repaired.")
STORE_TROUBLE = _declare(
    "cqs_store_out_of_reach",
    Kind.GAUGE,
    "1 while this node's beats do not reach Cassandra: sends and receives fail, wholly or in part.",
)
STORE_LOST = _declare(
    "cqs_store_hosts_lost",
    Kind.GAUGE,
    "Cassandra hosts, of all data centres, that can't be reached, as this node's driver knows or was told.",
)
CACHE_TROUBLE = _declare(
    "cqs_cache_servers_in_trouble",
    Kind.GAUGE,
    "Redis servers that are out of reach, unfit or full: their queues are served from the store, wholly or in part.",
)

WAITERS = _declare("cqs_waiting_receives", Kind.GAUGE, "Long polls that wait for messages.")
CONNECTIONS = _declare("cqs_connections", Kind.GAUGE, "Open client connections.")
REQUEST_BYTES = _declare(
    "cqs_request_bytes", Kind.GAUGE, "Bytes of requests coming in or being served, beyond 16 kB of each connection."
)
CROWDED_OUT = _declare(
    "cqs_requests_crowded_out",
    Kind.GAUGE,
    "Requests refused since the start because those coming in were more than request_memory; should be 0.",
)
UNREAD_BYTES = _declare("cqs_unread_answer_bytes", Kind.GAUGE, "Bytes of answers that clients have not read.")
CUT_OFF = _declare(
    "cqs_unread_answers_cut_off",
    Kind.GAUGE,
    "Clients cut off since the start because they did not read their answers; should be 0.",
)
HIT_RATIO = _declare(
    "cqs_cache_hit_ratio", Kind.GAUGE, "Share of received messages that the cache served, over ten minutes; 1 = all."
)
LOOP_LAG = _seconds(
    "event_loop_lag", "How much later than asked the event loop woke a sleeper.",
    bounds=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0),
)  # fmt: skip
QUEUE_SERIES = _declare("cqs_queue_series", Kind.GAUGE, "Queues with series of their own; the others are in _other.")
LEADER = _declare("cqs_leader", Kind.GAUGE, "1 when this node tells the metrics of what all nodes share.")
BUILD_INFO = _declare(
    "cqs_build_info", Kind.GAUGE, "1; the labels say what runs.", labels=("version", "python", "store", "cache")
)
