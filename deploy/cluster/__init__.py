"""Real servers on loopback, as processes: Cassandra nodes, Redis, API nodes, and a whole cluster of them.

`make cluster` runs a cluster; tests, drills and benchmarks start what they need from here. Nothing here is part of the
server or installed with it.

All processes end when the process that started them ends, however it ends. Start them in its main thread, because Linux
sends the parent-death signal when the starting thread ends.
"""
