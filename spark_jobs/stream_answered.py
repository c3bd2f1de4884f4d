"""Sends that were answered as duplicates of a message: does that message exist? (`spark_jobs.unsent`)

    sent ──────► ended ─────► left the state
      └─ within five minutes: answered again with it            so it is remembered for as long
         settled, without any event ──► never stored

Two states: answered messages that are not known yet, and addresses of FIFO messages that left the state recently.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cqs.events import EventName
from spark_jobs.staged import united
from spark_jobs.tables import QUEUE, is_event
from spark_jobs.unsent import sent_at_ms

ANSWERED = "account string, queue string, uid long, address string, at_ms long, is_doubtful boolean"
LATELY = "address string, sent_ms long"
KEPT_MS = 360_000
"""A deduplication ID is valid for five minutes; clocks may differ."""


def unknown_of(
    answered: DataFrame, events: DataFrame, heard: DataFrame, lives: DataFrame, lately: DataFrame
) -> DataFrame:
    """As ANSWERED: what was answered, earlier or in these events, and is neither in `lives` nor in `lately`. `heard`:
    the moments of all open messages, which tell whether its send was doubtful."""
    new = events.where(is_event(EventName.DEDUPLICATED)).select(*QUEUE, "address", "at_ms")
    doubts = heard.where(is_event(EventName.DOUBTFUL)).groupBy("address").agg(F.lit(True).alias("_doubted"))
    told = united(answered, new).join(doubts, "address", "left")
    is_doubtful = F.coalesce(F.max(F.coalesce("_doubted", "is_doubtful")), F.lit(False)).alias("is_doubtful")
    first = told.groupBy(*QUEUE, "address").agg(F.min("at_ms").alias("at_ms"), is_doubtful)
    there = lives.where("is_known OR deliveries > 0 OR fate != ''").select("address")
    return first.join(united(there, lately.select("address")), "address", "left_anti")


def lately_of(lately: DataFrame, lives: DataFrame, settled_ms: int) -> DataFrame:
    """As LATELY: earlier messages and those leaving the state now, for as long as a send may still be answered with
    them."""
    leave = lives.where("is_fifo AND is_known AND is_closed").select("address", "sent_ms")
    return united(lately, leave).where(F.col("sent_ms") > settled_ms - KEPT_MS)


def counts_of(unknown: DataFrame, settled_ms: int, began_ms: int) -> DataFrame:
    """By queue and `is_closed`: `never_stored`; `late` are those from before the journal, and those of doubtful sends,
    which may wait."""
    is_excused = (sent_at_ms(F.col("address")) < began_ms) | F.col("is_doubtful")
    rows = unknown.withColumn("is_closed", F.col("at_ms") <= settled_ms)
    return rows.groupBy(*QUEUE, "is_closed").agg(
        F.count_if(~is_excused).alias("never_stored"), F.count_if(is_excused & F.col("is_closed")).alias("late")
    )
