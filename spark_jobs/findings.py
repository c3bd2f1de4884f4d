"""What is wrong with single messages: one row each, of one form whatever was looked for, so that counts, verdict and a
drill-down to the message all come from one table."""

from __future__ import annotations

from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


class Kind(StrEnum):
    """What was found."""

    DUPLICATE = "duplicate"
    NOT_RECEIVED = "not received"
    NOT_DUE = "not due yet"
    """Not received, and not yet sent, or its delay not over, when the queue was last asked."""
    CORRUPTED = "corrupted"
    UNEXPECTED = "unexpected"
    RESURRECTED = "resurrected"
    HIDDEN_TOO_SHORT = "hidden too short"
    FIFO_ORDER = "fifo order"
    FIFO_TWO_CONSUMERS = "fifo two consumers"
    SENT_AGAIN = "sent again"
    NEVER_STORED = "never stored"
    """A send was answered as a repeat of a message, of which nothing else is known."""
    OLDER = "older than the journal"
    """Unexpected, an orphan or never stored; but its address says that it was sent before there was a journal."""
    LOST = "lost"
    """Acknowledged, not ended, and not in the store."""
    EARLIER = "open before the window"
    """Sent before the window that is audited, not heard of in it, and not ended: lost in it or before, if at all."""
    ORPHAN = "orphan"
    """In the store, and unknown to the journal."""
    STILL_STORED = "ended but still stored"
    STORED_CORRUPTED = "stored with another checksum"


COLUMNS = ["kind", "account", "queue", "uid", "tenant", "run", "address", "at_ms", "amount", "detail"]


def findings(rows: DataFrame, kind: Kind, *, at_ms: Column, amount: Column | None = None, detail: Column) -> DataFrame:
    """The rows, which have queue, tenant, run and address, as findings. `amount`: how often; 1 unless told."""
    return rows.select(
        F.lit(kind.value).alias("kind"),
        *("account", "queue", "uid", "tenant", "run", "address"),
        at_ms.cast("long").alias("at_ms"),
        (F.lit(1) if amount is None else amount).cast("long").alias("amount"),
        detail.cast("string").alias("detail"),
    )
