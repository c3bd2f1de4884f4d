"""Real servers on loopback, as processes: Cassandra nodes, Redis, API nodes, and a whole cluster of them.

`make cluster` runs one; tests, drills and benchmarks start what they need from here. Nothing here is part of the
server, and nothing of it is installed with it.

All processes end with the one that started them, however that ends. They must be started in its main thread, because
Linux counts the end of the starting thread.
"""
