"""All CQL used while serving, by name; prepared once, when the store opens.

Values are positional. UNSET leaves a column unwritten, where NULL would write a tombstone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from cassandra.query import UNSET_VALUE

UNSET: object = UNSET_VALUE
_TABLE = re.compile(r"\b(FROM|INTO|UPDATE) (\w+)\b(?!\.)")


class Kind(Enum):
    """READ and WRITE may be repeated freely; DECIDE is a conditional write, which may not."""

    READ = "read"
    WRITE = "write"
    DECIDE = "decide"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement; compared by the identity of its text."""

    cql: str
    kind: Kind


def _read(cql: str) -> Statement:
    return Statement(cql, Kind.READ)


def _write(cql: str) -> Statement:
    return Statement(cql, Kind.WRITE)


def _decide(cql: str) -> Statement:
    return Statement(cql, Kind.DECIDE)


INSERT_MESSAGE = _write(
    "INSERT INTO messages (queue_id, row, at, incarnation, sent_ms, visible_ms, message_group, sequence, checksum,"
    " meta, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?"
)
DELETE_MESSAGE = _write(
    "DELETE FROM messages USING TIMESTAMP ? WHERE queue_id = ? AND row = ? AND at = ? AND incarnation = ?"
)
READ_MESSAGES = _read(
    "SELECT at, incarnation, sent_ms, visible_ms, message_group, sequence, checksum, meta, body FROM messages"
    " WHERE queue_id = ? AND row = ? AND (at, incarnation) IN ?"
)
FIND_MESSAGES = _read("SELECT at, incarnation FROM messages WHERE queue_id = ? AND row = ? AND (at, incarnation) IN ?")
FIND_STORED = _read(
    "SELECT at, incarnation, sent_ms, visible_ms, message_group, sequence FROM messages"
    " WHERE queue_id = ? AND row = ? AND (at, incarnation) IN ?"
)
HEAD_MESSAGES = _read(
    "SELECT at, incarnation, sent_ms, visible_ms, message_group, sequence, checksum, meta, body FROM messages"
    " WHERE queue_id = ? AND row = ? AND (at, incarnation) > (?, ?) AND (at) < (?) LIMIT ?"
)
SCAN_MESSAGES = _read(
    "SELECT at, incarnation, sent_ms, visible_ms, message_group, sequence FROM messages"
    " WHERE queue_id = ? AND row = ? AND (at, incarnation) > (?, ?) AND (at) < (?) LIMIT ?"
)
FIRST_MESSAGE = _read(
    "SELECT at, incarnation FROM messages"
    " WHERE queue_id = ? AND row = ? AND (at, incarnation) > (?, ?) AND (at) < (?) LIMIT ?"
)
OCCUPIED_ROWS = _read("SELECT row FROM messages WHERE queue_id = ? AND row IN ? AND at >= ? PER PARTITION LIMIT 1")
DROP_MESSAGES = _write("DELETE FROM messages USING TIMESTAMP ? WHERE queue_id = ? AND row = ?")

INSERT_CONFIRMATION = _write(
    "INSERT INTO confirmations (queue_id, row, at, incarnation) VALUES (?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?"
)
DELETE_CONFIRMATION = _write(
    "DELETE FROM confirmations USING TIMESTAMP ? WHERE queue_id = ? AND row = ? AND at = ? AND incarnation = ?"
)
FIND_CONFIRMATIONS = _read(
    "SELECT at, incarnation FROM confirmations WHERE queue_id = ? AND row = ? AND (at, incarnation) IN ?"
)

SET_SEQUENCE = _decide("UPDATE claims SET last_sequence = ? WHERE queue_uid = ? IF last_sequence = ?")
TAKE_CLAIM = _decide(
    "INSERT INTO claims (queue_uid, generation, scope, dedup_id, at, tail, sequence, claimed_ms, expires_ms)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS USING TTL ?"
)
TAKE_OVER_CLAIM = _decide(
    "UPDATE claims USING TTL ? SET at = ?, tail = ?, sequence = ?, claimed_ms = ?, expires_ms = ?"
    " WHERE queue_uid = ? AND generation = ? AND scope = ? AND dedup_id = ? IF at = ? AND tail = ?"
)
GIVE_UP_CLAIM = _decide(
    "DELETE FROM claims WHERE queue_uid = ? AND generation = ? AND scope = ? AND dedup_id = ? IF at = ? AND tail = ?"
)
DROP_SEQUENCE = _decide("DELETE last_sequence FROM claims WHERE queue_uid = ? IF last_sequence > 0")
READ_CLAIMS = _read(
    "SELECT scope, dedup_id, at, tail, sequence, claimed_ms, expires_ms FROM claims"
    " WHERE queue_uid = ? AND generation = ? AND (scope, dedup_id) IN ?"
)

CLAIMS_IN_SCOPE = _read("SELECT dedup_id FROM claims WHERE queue_uid = ? AND generation = ? AND scope = ?")

INSERT_LEASE = _write(
    "INSERT INTO leases (queue_id, minute, at, tail, number, hidden_until_ms, receive_count, first_receive_ms)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TTL ? AND TIMESTAMP ?"
)
INSERT_LEASE_MINUTE = _write("INSERT INTO lease_minutes (queue_id, minute) VALUES (?, ?) USING TTL ?")
LEASE_MINUTES = _read("SELECT minute FROM lease_minutes WHERE queue_id = ? AND minute >= ?")
READ_LEASES = _read(
    "SELECT at, tail, number, hidden_until_ms, receive_count, first_receive_ms, WRITETIME(hidden_until_ms) FROM leases"
    " WHERE queue_id = ? AND minute = ? AND (at, tail, number) > (?, ?, ?) LIMIT ?"
)
FIND_LEASES = _read(
    "SELECT at, tail, number, hidden_until_ms, receive_count, first_receive_ms, WRITETIME(hidden_until_ms) FROM leases"
    " WHERE queue_id = ? AND minute = ? AND (at, tail) IN ?"
)
INSERT_RECEIVE = _write(
    "INSERT INTO receives (queue_id, row, at, incarnation, number, hidden_until_ms, receive_count, first_receive_ms)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TTL ? AND TIMESTAMP ?"
)
PRUNE_RECEIVES = _write(
    "DELETE FROM receives WHERE queue_id = ? AND row = ? AND at = ? AND incarnation = ? AND number < ?"
)
SCAN_RECEIVES = _read(
    "SELECT at, incarnation, number, hidden_until_ms, receive_count, first_receive_ms, WRITETIME(hidden_until_ms)"
    " FROM receives WHERE queue_id = ? AND row = ? AND (at, incarnation, number) > (?, ?, ?) AND (at) <= (?) LIMIT ?"
)
FIND_RECEIVES = _read(
    "SELECT at, incarnation, number, hidden_until_ms, receive_count, first_receive_ms, WRITETIME(hidden_until_ms)"
    " FROM receives WHERE queue_id = ? AND row = ? AND (at, incarnation) IN ?"
)
DROP_RECEIVES = _write("DELETE FROM receives USING TIMESTAMP ? WHERE queue_id = ? AND row = ?")

SAVE_MARK = _write("INSERT INTO low_water_marks (datacenter, queue_id, row, mark_at) VALUES (?, ?, ?, ?) USING TTL ?")
READ_MARKS = _read("SELECT row, mark_at FROM low_water_marks WHERE datacenter = ? AND queue_id = ?")
DROP_MARKS = _write("DELETE FROM low_water_marks WHERE datacenter = ? AND queue_id = ?")
INSERT_LATE = _write("INSERT INTO late_arrivals (queue_id, row, at, incarnation) VALUES (?, ?, ?, ?)")
DELETE_LATE = _write("DELETE FROM late_arrivals WHERE queue_id = ? AND row = ? AND at = ? AND incarnation = ?")
READ_LATE = _read("SELECT row, at, incarnation FROM late_arrivals WHERE queue_id = ?")
DROP_LATE = _write("DELETE FROM late_arrivals WHERE queue_id = ?")

ALL_QUEUES = _read("SELECT account, name, definition FROM queues")
ALL_STORAGE_IDS = _read("SELECT uid, generation FROM queues")
FIND_QUEUE = _read("SELECT definition FROM queues WHERE account = ? AND name = ?")
PROBE = _read("SELECT account FROM queues WHERE account = ? AND name = ?")
CREATE_QUEUE = _decide(
    "INSERT INTO queues (account, name, uid, version, generation, definition) VALUES (?, ?, ?, ?, ?, ?) IF NOT EXISTS"
)
SAVE_QUEUE = _decide(
    "UPDATE queues SET version = ?, generation = ?, definition = ? WHERE account = ? AND name = ?"
    " IF uid = ? AND version = ?"
)
DROP_QUEUE = _decide("DELETE FROM queues WHERE account = ? AND name = ? IF uid = ? AND version = ?")
NOTE_DROPPED = _write("INSERT INTO dropped_queues (account, name, dropped_ms) VALUES (?, ?, ?)")
DROPPED_MS = _read("SELECT dropped_ms FROM dropped_queues WHERE account = ? AND name = ?")
ALL_MOVE_TASKS = _read("SELECT account, name, handle, definition FROM move_tasks")
MOVE_TASKS_OF = _read("SELECT started_ms, handle FROM move_tasks WHERE account = ? AND name = ?")
SAVE_MOVE_TASK = _write(
    "INSERT INTO move_tasks (account, name, started_ms, handle, definition) VALUES (?, ?, ?, ?, ?) USING TTL ?"
)
FORGET_MOVE_TASK = _write("DELETE FROM move_tasks WHERE account = ? AND name = ? AND started_ms = ? AND handle = ?")
NOTE_GARBAGE = _write("INSERT INTO garbage (queue_id, since_ms) VALUES (?, ?)")
ALL_GARBAGE = _read("SELECT queue_id, since_ms FROM garbage")
FORGET_GARBAGE = _write("DELETE FROM garbage WHERE queue_id = ?")

READ_NOW = _read("SELECT toTimestamp(now()) FROM system.local")
BEAT = _write("INSERT INTO nodes (datacenter, node, definition) VALUES (?, ?, ?) USING TTL ?")
READ_NODES = _read("SELECT node, definition FROM nodes WHERE datacenter = ?")
TAKE_LEAD = _decide("INSERT INTO leaderships (name, holder) VALUES (?, ?) IF NOT EXISTS USING TTL ?")
RENEW_LEAD = _decide("UPDATE leaderships USING TTL ? SET holder = ? WHERE name = ? IF holder = ?")
RESIGN_LEAD = _decide("DELETE FROM leaderships WHERE name = ? IF holder = ?")
READ_HOME = _read("SELECT datacenter, epoch, WRITETIME(epoch) FROM homes WHERE queue_uid = ? AND shard = ?")
FIRST_HOME = _decide("INSERT INTO homes (queue_uid, shard, datacenter, epoch) VALUES (?, ?, ?, ?) IF NOT EXISTS")
MOVE_HOME = _decide(
    "UPDATE homes SET datacenter = ?, epoch = ? WHERE queue_uid = ? AND shard = ? IF datacenter = ? AND epoch = ?"
)
HOMES_OF = _read("SELECT shard FROM homes WHERE queue_uid = ?")
DROP_HOME = _decide("DELETE FROM homes WHERE queue_uid = ? AND shard = ? IF EXISTS")
MARK_DIRTY = _write(
    "INSERT INTO dirty_marks (datacenter, queue_id, shard, node, since_ms, low_at, low_tail, high_at, high_tail)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
READ_DIRTY = _read(
    "SELECT queue_id, shard, node, since_ms, low_at, low_tail, high_at, high_tail FROM dirty_marks WHERE datacenter = ?"
)
CLEAN = _write(
    "DELETE FROM dirty_marks USING TIMESTAMP ?"
    " WHERE datacenter = ? AND queue_id = ? AND shard = ? AND node = ? AND since_ms = ?"
)
ANNOUNCE = _write("INSERT INTO news (minute, stamp, kind, subject) VALUES (?, now(), ?, ?)")
NEWS_STAMPS = _read("SELECT stamp FROM news WHERE minute = ?")
READ_NEWS = _read("SELECT stamp, kind, subject FROM news WHERE minute = ? AND stamp IN ?")

IDENTITIES_VERSION = _read("SELECT version FROM identities WHERE realm = ? LIMIT 1")
ALL_IDENTITIES = _read("SELECT kind, name, definition, version FROM identities WHERE realm = ?")
FIND_IDENTITY = _read("SELECT definition FROM identities WHERE realm = ? AND kind = ? AND name = ?")
OWNED_IDENTITIES = _read("SELECT name, owner FROM identities WHERE realm = ? AND kind = ?")
COUNT_IDENTITIES = _decide("UPDATE identities SET version = ? WHERE realm = ? IF version = ?")
SAVE_IDENTITY = _decide("INSERT INTO identities (realm, kind, name, owner, definition) VALUES (?, ?, ?, ?, ?)")
DROP_IDENTITY = _decide("DELETE FROM identities WHERE realm = ? AND kind = ? AND name = ?")

MESSAGES = frozenset([INSERT_MESSAGE, DELETE_MESSAGE, DROP_MESSAGES])
"""Written by sends, deletes and purges; may have to reach every data centre."""
VITAL = frozenset(
    [READ_NOW, BEAT, READ_NODES, TAKE_LEAD, RENEW_LEAD, NEWS_STAMPS, READ_NEWS, ANNOUNCE, MARK_DIRTY, READ_DIRTY, CLEAN]
)
"""Vital to a node: without heartbeats other nodes take it for dead, and without marks it can't trust its cache."""
EVEN_IN_SILENCE = frozenset([READ_NOW, BEAT, PROBE])
"""They find out whether Cassandra answers."""
CATALOGUE = frozenset([CREATE_QUEUE, SAVE_QUEUE, DROP_QUEUE])
"""These decide which queue a name refers to; all data centres may have to take part in the decision."""

ALL: tuple[Statement, ...] = tuple([value for value in globals().values() if isinstance(value, Statement)])
"""Every statement of this file."""


def qualified(cql: str, keyspace: str) -> str:
    """With the keyspace before each table that has none: Cassandra warns of prepared statements that depend on USE."""
    return _TABLE.sub(rf'\1 "{keyspace}".\2', cql)
