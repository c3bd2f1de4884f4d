"""Checks a Cassandra cluster: reachability, schema, replication, durability and clocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from cqs.clock import Clock
from cqs.doctor.clocks import clock_finding
from cqs.doctor.finding import Finding, error, ok, warning
from cqs.errors import StoreUnavailable
from cqs.plural import counted, plural
from cqs.store.cassandra import Options
from cqs.store.cassandra.probe import Look, NodeLook, look

COPIES_MIN = 3
"""With three, one may be lost and the other two still form a quorum."""
_DURABLE = ("group", "batch")


async def check_cassandra(options: Options, clock: Clock) -> list[Finding]:
    """Findings for the cluster, and for each of its nodes that has a problem."""
    part = f"cassandra {options.place}"
    try:
        found = await look(options, clock)
    except StoreUnavailable as failure:
        reason = str(failure)
        if "user or password" in reason:
            return [error(part, reason, "correct cassandra_user and cassandra_password")]
        return [error(part, reason, "start it, or correct its address and port (cassandra, cassandra_port)")]
    return findings_of(part, options, found)


def findings_of(part: str, options: Options, found: Look) -> list[Finding]:
    """The findings from this look: first each node that has a problem, then the cluster as a whole."""
    wrong = [*_datacenter(part, options, found), *_keyspace(part, options, found)]
    versions = ", ".join(sorted({node.version for node in found.nodes if node.version}))
    count, answered = counted(len(found.nodes), "node"), sum(not node.problem for node in found.nodes)
    if answered < len(found.nodes):
        count = f"{answered} of {count} {plural(answered, 'answers', 'answer')}"
    in_order = ok(part, f"Cassandra {versions}, {count}, keyspace {options.keyspace} in order")
    return [*_nodes(found), *(wrong or [in_order])]


def _nodes(found: Look) -> Iterator[Finding]:
    for node in found.nodes:
        part = f"cassandra {node.address}"
        if node.problem:
            yield warning(part, f"the node does not answer: {node.problem}", "check whether it runs (nodetool status)")
            continue
        yield from clock_finding(part, node.ahead_ms)
        if node.sync and node.sync not in _DURABLE:
            yield warning(
                part,
                f"commitlog_sync is {node.sync}: what it acknowledged in the last seconds is lost if its machine dies",
                "set commitlog_sync: batch in cassandra.yaml; with periodic only the copies on other machines protect",
            )


def _datacenter(part: str, options: Options, found: Look) -> Iterator[Finding]:
    known = sorted({node.datacenter for node in found.nodes if node.datacenter})
    if options.datacenter and options.datacenter not in known:
        yield error(
            part,
            f"there is no data centre {options.datacenter}, only {', '.join(known)}",
            "correct cassandra_datacenter",
        )
    elif not options.datacenter and len(known) > 1:
        yield warning(
            part,
            f"there are several data centres ({', '.join(known)}) and cassandra_datacenter names none",
            "set it to the one that this node is in, so that no other answers its calls",
        )


def _keyspace(part: str, options: Options, found: Look) -> Iterator[Finding]:
    if found.schema_problem:
        yield error(part, found.schema_problem, "cqs schema apply --replicas DC=3, or the version of CQS that made it")
    if found.unread:
        yield error(part, found.unread, _to_read(options, found))
    if found.outstanding:
        told = f"keyspace {options.keyspace} is as an earlier version made it ({'; '.join(found.outstanding)})"
        yield warning(part, told, "cqs schema apply")
    if found.replication is None:
        return
    copies = {name: int(count) for name, count in found.replication.items() if name != "class" and count.isdigit()}
    if not found.replication.get("class", "").endswith("NetworkTopologyStrategy"):
        yield error(
            part,
            f"keyspace {options.keyspace} is not replicated by data centre ({found.replication.get('class')})",
            f"ALTER KEYSPACE {options.keyspace} WITH replication = {{'class': 'NetworkTopologyStrategy', 'DC': 3}}",
        )
        return
    nodes = Counter(node.datacenter for node in found.nodes if node.datacenter)
    mine = options.datacenter or next(iter(nodes), "")
    if mine in nodes and mine not in copies:
        yield error(part, f"keyspace {options.keyspace} has no copies in {mine}", f"ALTER KEYSPACE: add '{mine}': 3")
    for name, count in copies.items():
        yield from _copies(f"{part}, data centre {name}", count, nodes[name], found.nodes)


def _to_read(options: Options, found: Look) -> str:
    if any(node.problem for node in found.nodes):
        return "start the nodes that do not answer (nodetool status)"
    if "permission" in found.unread:
        return f"GRANT ALL PERMISSIONS ON KEYSPACE {options.keyspace} to the user"
    return "check whether enough nodes are up for its copies (nodetool status)"


def _copies(part: str, count: int, nodes: int, known: Sequence[NodeLook]) -> Iterator[Finding]:
    if count > nodes and all(node.datacenter for node in known):
        wanted = counted(count, "copy is", "copies are")
        there = counted(nodes, "node")
        yield error(
            part, f"{wanted} wanted and there {plural(nodes, 'is', 'are')} {there}", "add nodes, or lower its copies"
        )
    if count < COPIES_MIN:
        lost = "a lost node loses messages" if count == 1 else "a lost node stops all writes"
        yield warning(
            part,
            f"{counted(count, 'copy', 'copies')}: {lost}",
            "three nodes and three copies (ALTER KEYSPACE, nodetool repair)",
        )
