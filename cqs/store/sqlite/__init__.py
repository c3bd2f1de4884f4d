"""The embedded durable store: one SQLite file, one server and its writer.

    event loop        SqliteStore ── jobs ──► writer process ── own connection ──► messages.db-wal ──► messages.db
                          │  ▲                                                                            ▲
                          │  └─ results, once a commit                       checkpoint thread ───────────┘
                          └──── reads ──────► reader thread ─── own connection (never blocks, never blocked: WAL)

store.py composes the parts. writer.py is the only one that writes; hands.py decides whether it is a thread or a
process: writer_process.py is that process seen from the server, writing.py its program, wire.py what goes between the
two. reader.py reads bodies and pages; inventory.py is the one pass at start; upkeep.py checkpoints, sweeps what purges
leave behind, and gives space back.

Nothing is imported here: the writer process needs less than half of it, and starts in two thirds of the time.
"""
