"""Audits with Spark: determines what became of every message, from the event journals of any number of nodes.

    workload ──► replay ──► server ──► journal ──► audit ──► report
                    │                     │          ▲
                    └── observations ─────┘          └── reconcile (the store itself)

The same jobs run on a laptop (`local[*]`) and, with `spark-submit`, on a cluster. Each file answers one question. The
jobs use three tables: events (lines of the journal), steps (events of messages, each with its predecessor) and lives
(one row per message); see `spark_jobs.tables`.
"""

import importlib.util
import sys

_BEFORE_A_COMMAND = ["-m"]
"""`sys.argv` while `python -m` looks for the module that it will run."""

if sys.argv[:1] == _BEFORE_A_COMMAND and importlib.util.find_spec("pyspark") is None:
    sys.stderr.write("audit: Spark is not installed: pip install 'cqs-server[spark]'\n")
    sys.exit(2)
