"""Proof by Spark: what became of every message, from the event journal of any number of nodes.

    workload ──► replay ──► server ──► journal ──► audit ──► report
                    │                     │          ▲
                    └── observations ─────┘          └── reconcile (the store itself)

The same jobs run on a laptop (`local[*]`) and by `spark-submit` on a cluster. One file answers one question; they work
on three tables: events (lines of the journal), steps (events of messages, each with the one before) and lives (one row
a message); see `spark_jobs.tables`.
"""
