"""Proof by Spark: what became of every message, from the event journal of any number of nodes.

    workload ──► replay ──► server ──► journal ──► audit ──► report
                    │                     │          ▲
                    └── observations ─────┘          └── reconcile (the store itself)

The same jobs run on a laptop (`local[*]`) and by `spark-submit` on a cluster. One file answers one question; they work
on three tables: events (lines of the journal), steps (events of messages, each with the one before) and lives (one row
a message); see `spark_jobs.tables`.
"""

import importlib.util
import sys

_BEFORE_A_COMMAND = ["-m"]
"""What `python -m` says of itself while it looks for the module that it will run."""

if sys.argv[:1] == _BEFORE_A_COMMAND and importlib.util.find_spec("pyspark") is None:
    sys.stderr.write("audit: Spark is not installed: pip install 'cqs-server[spark]'\n")
    sys.exit(2)
