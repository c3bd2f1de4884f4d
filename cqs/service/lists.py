"""Which lists of cache servers the nodes use, as their beats report.

Nodes with different lists of cache servers would serve a queue from two of them. The lists may have no server in
common, so nodes announce theirs in their beats, and a node with a newer list serves only when none uses an older one:

    node A, list 1: x                 store                    node C, list 2: z, starts
    beats "list 1" ─────────────────► A: list 1
    serves from x                     C: list 2 ◄───────────── beats "list 2", sees list 1: waits
    sees list 2: gives x up
    beats "" ───────────────────────► A: none ───────────────► serves from z

The same name in a list may lead two nodes to different servers (`localhost`, or an address that failed over while one
node kept its connection). So nodes also report which server they reach by each name. If two nodes differ for
SPLIT_LOOKS looks, the elder one reconnects, and the younger one does not use the name until both reach the same server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from cqs.store.coordination import Node

SPLIT_LOOKS = 3


class Listed(Protocol):
    """The list of cache servers that this node uses."""

    text: str
    """Identifies the list, "version digest"; "" = there is none."""

    @property
    def in_use(self) -> str:
        """`text`, or "" while none of its servers is in use."""

    @property
    def run_ids(self) -> Mapping[str, str]:
        """The run id of the server last reached by each name."""

    def give_way(self, other: str) -> None:
        """Stops use of its servers while other nodes use the list `other`; "" = no conflicting list is left."""

    def keep_from(self, others: Mapping[str, str]) -> None:
        """Elder nodes reach these servers by these names; no other server may be used under them. Replaces the previous
        call."""

    def doubt(self, others: Mapping[str, str]) -> None:
        """Younger nodes reach these servers by these names: reconnects once to any that differs."""


class Unlisted:
    """For a node without cache servers."""

    text = in_use = ""
    run_ids: Mapping[str, str] = MappingProxyType({})

    def give_way(self, other: str) -> None:
        """Nothing to give up."""

    def keep_from(self, others: Mapping[str, str]) -> None:
        """Nothing to keep from."""

    def doubt(self, others: Mapping[str, str]) -> None:
        """Nothing to doubt."""


class Lists:
    """Compares this node's list with those of the others."""

    def __init__(self, listed: Listed) -> None:
        self.listed = listed
        self.is_settled = True
        """This node may use its list: no other node uses a different one, and every difference in the servers reached
        has been seen for SPLIT_LOOKS, and so is dealt with."""
        self._splits: dict[tuple[str, str, str, str], int] = {}
        """Looks in a row at which a node's run reached, by a name, a server other than this node's."""

    def look(self, me: Node, others: Sequence[Node]) -> None:
        """`others`: from one read of the beats."""
        mine = self.listed.text
        self.listed.give_way(next((node.servers for node in others if _is_before(node, me, mine)), ""))
        self._look_for_splits(me, [node for node in others if mine and node.servers == mine])
        are_alike = all(node.servers in ("", mine) for node in others)
        is_clear = all(looks >= SPLIT_LOOKS for looks in self._splits.values())
        self.is_settled = is_clear and (are_alike or not self.listed.in_use)

    def _look_for_splits(self, me: Node, others: Sequence[Node]) -> None:
        mine, before, self._splits = self.listed.run_ids, self._splits, {}
        elders: dict[str, str] = {}
        younger: dict[str, str] = {}
        for node in others:
            for name, its in node.run_ids.items():
                if name in node.lost or mine.get(name, its) == its:
                    continue
                split = node.life, name, mine[name], its
                looks = self._splits[split] = before.get(split, 0) + 1
                if _is_elder(node, me) and looks >= SPLIT_LOOKS:
                    elders[name] = its
                elif looks == SPLIT_LOOKS:
                    younger[name] = its
        self.listed.keep_from(elders)
        self.listed.doubt(younger)


def _is_before(node: Node, me: Node, mine: str) -> bool:
    """Whether the other node's list takes precedence: a newer version or, of two lists with the same version, the elder
    node's."""
    if not mine or not node.servers or mine == node.servers:
        return False
    version, its = int(mine.split()[0]), int(node.servers.split()[0])
    return its > version or (its == version and _is_elder(node, me))


def _is_elder(node: Node, me: Node) -> bool:
    return (node.started_ms, node.name) < (me.started_ms, me.name)
