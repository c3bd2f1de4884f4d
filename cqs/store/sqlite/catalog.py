"""Queues, dropped names and move tasks as rows. Functions for a `Work` (they write) or a `Query` (they read).

A queue's row holds its definition as JSON, for people and for Spark; the other columns are those used in conditions.
"""

from __future__ import annotations

import sqlite3

import msgspec

from cqs.queue import GENERATION_BITS, Queue, QueueName
from cqs.store.definitions import Definitions
from cqs.store.interface import DROPPED_KEPT_MS, MOVE_TASKS_KEPT, MoveTask

_encode = msgspec.json.Encoder().encode
_queues = Definitions(Queue)
_tasks = Definitions(MoveTask)


def queues(connection: sqlite3.Connection) -> list[Queue]:
    return _queues.all(connection.execute("SELECT account, name, definition FROM queues"))


def find(connection: sqlite3.Connection, key: QueueName) -> Queue | None:
    row = connection.execute(
        "SELECT definition FROM queues WHERE account = ? AND name = ?", (key.account, key.name)
    ).fetchone()
    return None if row is None else _queues.one(row[0], key.account, key.name)


def create(connection: sqlite3.Connection, queue: Queue) -> Queue:
    """The queue with this name, which is the given one if there was none."""
    connection.execute(
        "INSERT OR IGNORE INTO queues VALUES (?, ?, ?, ?, ?, ?)",
        (queue.account, queue.name, queue.uid, queue.generation, queue.version, _encode(queue).decode()),
    )
    found = find(connection, queue.key)
    assert found is not None
    return found


def save(connection: sqlite3.Connection, queue: Queue) -> int | None:
    """The storage id that was replaced, possibly the same; None when the condition did not hold."""
    row = connection.execute(
        "SELECT generation FROM queues WHERE account = ? AND name = ? AND uid = ? AND version = ?",
        (queue.account, queue.name, queue.uid, queue.version - 1),
    ).fetchone()
    if row is None:
        return None
    connection.execute(
        "UPDATE queues SET generation = ?, version = ?, definition = ? WHERE account = ? AND name = ?",
        (queue.generation, queue.version, _encode(queue).decode(), queue.account, queue.name),
    )
    return queue.uid << GENERATION_BITS | int(row[0])


def drop(connection: sqlite3.Connection, queue: Queue, now_ms: int) -> int | None:
    """The storage id whose messages are now garbage; None when the queue was gone already."""
    key = (queue.account, queue.name)
    row = connection.execute(
        "DELETE FROM queues WHERE account = ? AND name = ? AND uid = ? RETURNING generation", (*key, queue.uid)
    ).fetchone()
    if row is None:
        return None
    connection.execute("DELETE FROM sequences WHERE queue_uid = ?", (queue.uid,))
    connection.execute("DELETE FROM dropped WHERE dropped_ms <= ?", (now_ms - DROPPED_KEPT_MS,))
    connection.execute("INSERT OR REPLACE INTO dropped VALUES (?, ?, ?)", (*key, now_ms))
    return queue.uid << GENERATION_BITS | int(row[0])


def dropped_ms(connection: sqlite3.Connection, key: QueueName, now_ms: int) -> int:
    row = connection.execute(
        "SELECT dropped_ms FROM dropped WHERE account = ? AND name = ? AND dropped_ms > ?",
        (key.account, key.name, now_ms - DROPPED_KEPT_MS),
    ).fetchone()
    return 0 if row is None else int(row[0])


def move_tasks(connection: sqlite3.Connection) -> list[MoveTask]:
    return _tasks.all(
        connection.execute(
            "SELECT account, name, handle, definition FROM move_tasks ORDER BY started_ms DESC, handle DESC"
        )
    )


def save_move_task(connection: sqlite3.Connection, task: MoveTask) -> None:
    """Adds or replaces the task, and deletes the oldest ones of its source beyond MOVE_TASKS_KEPT."""
    source = (task.source.account, task.source.name)
    connection.execute(
        "INSERT OR REPLACE INTO move_tasks VALUES (?, ?, ?, ?, ?)",
        (task.handle, *source, task.started_ms, _encode(task).decode()),
    )
    connection.execute(
        "DELETE FROM move_tasks WHERE handle IN (SELECT handle FROM move_tasks WHERE account = ? AND name = ?"
        " ORDER BY started_ms DESC, handle DESC LIMIT -1 OFFSET ?)",
        (*source, MOVE_TASKS_KEPT),
    )
