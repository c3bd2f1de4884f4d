"""The durable store of a cluster: messages in a Cassandra ring, used by any number of nodes at once.

    CassandraStore ─ messages, leases, claims … ─► Partitions (group commit) ─► Session ─► driver ─► ring

store.py composes the parts and is what the service sees; schema.cql explains the tables. Only link.py and session.py
call the driver, only failures.py knows its errors, and only statements.py contains CQL; reactor.py serves the driver's
sockets in the event loop.
"""

from cqs.store.cassandra.options import Options
from cqs.store.cassandra.store import CassandraStore

__all__ = ["CassandraStore", "Options"]
