"""Benchmarks: CQS and its peers on one machine, measured alternately in one run.

The results are ratios measured side by side; absolute rates only describe the machine. `python -m benchmarks` measures
and stores the raw results, `python -m benchmarks.report` generates docs/benchmarks.md from them, and
`python -m benchmarks.memory` measures the memory that waiting messages take.
"""
