"""What is wrong with single messages: one row each, in the same form for every check, so that counts, verdict and
drill-down to a message all use one table."""

from __future__ import annotations

from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


class Kind(StrEnum):
    """What was found."""

    DUPLICATE = "duplicate"
    NOT_RECEIVED = "not received"
    NOT_DUE = "not due yet"
    """Not received, but sent or becoming visible only after the last receive from the queue."""
    CORRUPTED = "corrupted"
    UNEXPECTED = "unexpected"
    RESURRECTED = "resurrected"
    HIDDEN_TOO_SHORT = "hidden too short"
    FIFO_ORDER = "fifo order"
    FIFO_TWO_CONSUMERS = "fifo two consumers"
    SENT_AGAIN = "sent again"
    NEVER_STORED = "never stored"
    """A send was answered as a duplicate of a message about which nothing else is known."""
    OLDER = "older than the journal"
    """Unexpected, an orphan or never stored; but its address says that it was sent before the journal began."""
    LOST = "lost"
    """Acknowledged, not ended, and not in the store."""
    EARLIER = "open before the window"
    """Sent before the audited window, without an event in it, and not ended: if lost, then in the window or before."""
    ORPHAN = "orphan"
    """In the store, and unknown to the journal."""
    STILL_STORED = "ended but still stored"
    STORED_CORRUPTED = "stored with another checksum"


COLUMNS = ["kind", "account", "queue", "uid", "tenant", "run", "address", "at_ms", "amount", "detail"]


def findings(rows: DataFrame, kind: Kind, *, at_ms: Column, amount: Column | None = None, detail: Column) -> DataFrame:
    """The rows, which have queue, tenant, run and address, as findings. `amount`: how often; default 1."""
    return rows.select(
        F.lit(kind.value).alias("kind"),
        *("account", "queue", "uid", "tenant", "run", "address"),
        at_ms.cast("long").alias("at_ms"),
        (F.lit(1) if amount is None else amount).cast("long").alias("amount"),
        detail.cast("string").alias("detail"),
    )
