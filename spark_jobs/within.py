"""Which figures and findings of an audit belong to its window (`spark_jobs.window`).

    figures      messages sent in the window, whenever they were received or ended
    findings     about a message    sent in the window; or sent before it, with an event in the window
                 about a delivery   made in the window
                 about the store    of messages sent, or ended, before the end of the window: the current state

A message that was sent before the window and is gone, without an event in it, was lost in the window or before.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.findings import COLUMNS, Kind, findings
from spark_jobs.staged import small, united
from spark_jobs.tables import is_event
from spark_jobs.unsent import sent_at_ms
from spark_jobs.window import Window

_TELL_THE_SEND = (Kind.LOST, Kind.NOT_RECEIVED, Kind.NOT_DUE, Kind.SENT_AGAIN)
"""Their time is that of the send; for others, the address contains it."""
_OF_A_MESSAGE = (Kind.DUPLICATE, Kind.NOT_RECEIVED, Kind.NOT_DUE, Kind.SENT_AGAIN, Kind.ORPHAN, Kind.OLDER)
_OF_ONE_HEARD_OF = (Kind.LOST, Kind.CORRUPTED)
_OF_A_STRANGER = (Kind.UNEXPECTED, Kind.NEVER_STORED)
_OF_A_DELIVERY = (Kind.RESURRECTED, Kind.HIDDEN_TOO_SHORT, Kind.FIFO_ORDER, Kind.FIFO_TWO_CONSUMERS)


def messages_in(lives: DataFrame, window: Window | None) -> DataFrame:
    """Lives of messages that were sent, or arrived from another queue, in the window."""
    if window is None:
        return lives
    return lives.where(F.coalesce("sent_ms", sent_at_ms(F.col("address"))).between(window.since_ms, window.until_ms))


def happened_in(rows: DataFrame, window: Window | None, time: str = "at_ms") -> DataFrame:
    """The rows whose time is in the window."""
    return rows if window is None else rows.where(F.col(time).between(window.since_ms, window.until_ms))


def findings_in(
    found: DataFrame, moments: DataFrame, lives: DataFrame, window: Window | None, *, has_store: bool
) -> DataFrame:
    """The findings that count. EARLIER are messages sent before the window that have no end and, if a store is given,
    are not in it either."""
    if window is None:
        return found
    sent_ms = F.when(_is(*_TELL_THE_SEND), F.col("at_ms")).otherwise(sent_at_ms(F.col("address")))
    dated = found.withColumn("begun_ms", sent_ms)
    is_older, is_in_time = F.col("begun_ms") < window.since_ms, F.col("begun_ms") <= window.until_ms
    old = small(dated.where(_is(*_OF_ONE_HEARD_OF) & is_older).select("address").distinct())
    heard = happened_in(moments, window).join(old, "address", "left_semi").select("address").distinct()
    told = dated.join(small(heard.withColumn("is_heard", F.lit(True))), "address", "left")
    counts = (
        (_is(*_OF_A_MESSAGE) & ~is_older & is_in_time)
        | (_is(*_OF_ONE_HEARD_OF) & is_in_time & (~is_older | F.coalesce("is_heard", F.lit(False))))
        | (_is(*_OF_A_STRANGER) & ~is_older & _in(window))
        | (_is(*_OF_A_DELIVERY) & _in(window))
        | (_is(Kind.STORED_CORRUPTED) & is_in_time)
        | (_is(Kind.STILL_STORED) & (F.col("at_ms") <= window.until_ms))
    )
    is_earlier = _is(Kind.LOST) & is_older & ~counts
    kind = F.when(is_earlier, Kind.EARLIER.value).otherwise(F.col("kind"))
    kept = told.where(counts | is_earlier).withColumn("kind", kind).select(*COLUMNS)
    return kept if has_store else united(kept, _unended_before(lives, window))


def too_old_for(window: Window, events: DataFrame, stored: DataFrame | None) -> int:
    """How many messages are in the store or were received in the window, although they were sent so long before it that
    what happened to them may not have been read."""
    received = happened_in(events, window).where(is_event(EventName.RECEIVED, EventName.FROM_STORE)).select("address")
    rows = received if stored is None else united(received, stored.select("address"))
    return rows.where(sent_at_ms(F.col("address")) < window.reach.from_ms).distinct().count()


def _unended_before(lives: DataFrame, window: Window) -> DataFrame:
    before = lives.where(F.col("is_known") & (F.col("fate") == "") & (F.col("sent_ms") < window.since_ms))
    return findings(before, Kind.EARLIER, at_ms=F.col("sent_ms"), detail=F.lit(""))


def _in(window: Window) -> Column:
    return F.col("at_ms").between(window.since_ms, window.until_ms)


def _is(*kinds: Kind) -> Column:
    return F.col("kind").isin([kind.value for kind in kinds])
