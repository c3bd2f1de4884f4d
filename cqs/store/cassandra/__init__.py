"""The durable store of a cluster: messages in a Cassandra ring, from any number of nodes at once.

    CassandraStore ─ messages, leases, claims … ─► Partitions (group commit) ─► Session ─► driver ─► ring

store.py composes the parts and is what the service sees; schema.cql explains the tables; session.py is the only file
that calls the driver, reactor.py serves its sockets in the event loop, failures.py is the only one that knows its
errors, statements.py the only one with CQL.
"""

from cqs.store.cassandra.options import Options
from cqs.store.cassandra.store import CassandraStore

__all__ = ["CassandraStore", "Options"]
