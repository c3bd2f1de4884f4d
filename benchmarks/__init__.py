"""Benchmarks: this server beside its peers, on one machine, in one run, by turns.

A figure here is a ratio taken side by side; absolute rates are notes about the machine. `python -m benchmarks`
measures and keeps the raw results, `python -m benchmarks.report` makes docs/benchmarks.md from them, and
`python -m benchmarks.memory` asks what waiting messages cost.
"""
