"""The hosts of the cluster, as the driver knows them."""

from __future__ import annotations

from cassandra.cluster import Cluster

from cqs.store.report import StoreHost


def hosts_of(cluster: Cluster) -> tuple[StoreHost, ...]:
    """By data centre and address. Queries no host: one of them notifies the driver of changes, and for hosts it has
    connections to, the driver knows by itself whether they answer."""
    found = [
        StoreHost(
            address=str(host.address),
            datacenter=host.datacenter or "",
            rack=host.rack or "",
            version=host.release_version or "",
            is_up=host.is_up,
        )
        for host in cluster.metadata.all_hosts()
    ]
    return tuple(sorted(found, key=lambda host: (host.datacenter, host.address)))
