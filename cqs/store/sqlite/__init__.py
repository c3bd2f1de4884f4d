"""The embedded durable store: one SQLite file, one process.

    event loop        SqliteStore ── jobs ──► writer thread ─── own connection ──► messages.db-wal ──► messages.db
                          │  ▲                                                                            ▲
                          │  └─ results, once a commit                       checkpoint thread ───────────┘
                          └──── reads ──────► reader thread ─── own connection (never blocks, never blocked: WAL)

store.py composes the parts; writer.py is the only one that writes; reader.py reads bodies and pages; inventory.py is
the one pass at start; upkeep.py checkpoints, sweeps what purges leave behind, and gives space back.
"""

from cqs.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
