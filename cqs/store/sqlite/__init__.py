"""The embedded durable store: one SQLite file, one server and its writer.

    event loop        SqliteStore ── jobs ──► writer process ── own connection ──► messages.db-wal ──► messages.db
                          │  ▲                                                                            ▲
                          │  └─ results, once a commit                       checkpoint thread ───────────┘
                          └──── reads ──────► reader thread ─── own connection (never blocks, never blocked: WAL)

store.py composes the parts. Only writer.py writes. hands.py decides whether it runs in a thread or a process:
writer_process.py is that process seen from the server, writing.py its program, wire.py the protocol between the two.
reader.py reads bodies and pages; inventory.py makes the one pass at start; upkeep.py checkpoints, sweeps up after
purges, and returns space to the disk.

This module imports nothing: the writer process needs less than half of the package, and so starts in two thirds of the
time.
"""
