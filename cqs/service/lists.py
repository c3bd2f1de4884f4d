"""Which cache servers nodes go by, as their beats tell it.

Nodes with different lists of cache servers would serve a queue from two of them. They tell each other by these beats,
since the lists may have no server in common, and the newer one's node serves when nobody goes by an older one:

    node A, list 1: x                 store                    node C, list 2: z, starts
    beats "list 1" ─────────────────► A: list 1
    serves from x                     C: list 2 ◄───────────── beats "list 2", sees list 1: waits
    hears list 2: gives x up
    beats "" ───────────────────────► A: none ───────────────► serves from z

The same name in a list may lead two nodes to two servers (`localhost`, an address that failed over while one of them
kept its connection). So they also tell which server they reach by it. Where that differs for SPLIT_LOOKS, the elder
connects anew, and the younger does not use the server while it is another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from cqs.store.coordination import Node

SPLIT_LOOKS = 3


class Listed(Protocol):
    """The list of cache servers that this node goes by."""

    text: str
    """What tells it from others, "version digest"; "" = there is none."""

    @property
    def in_use(self) -> str:
        """`text`, or "" while none of the servers is used."""

    @property
    def run_ids(self) -> Mapping[str, str]:
        """The server reached last by each name."""

    def give_way(self, other: str) -> None:
        """None of them may be used while nodes go by that other list; "" = none does any more."""

    def keep_from(self, others: Mapping[str, str]) -> None:
        """By these names elder nodes reach these servers: no other one may be used. Replaces what was said before."""

    def doubt(self, others: Mapping[str, str]) -> None:
        """By these names younger nodes reach these servers: any other one is to be connected to anew, once."""


class Unlisted:
    """Of a node that has no cache servers."""

    text = in_use = ""
    run_ids: Mapping[str, str] = MappingProxyType({})

    def give_way(self, other: str) -> None:
        """Nothing to give up."""

    def keep_from(self, others: Mapping[str, str]) -> None:
        """Nothing to keep from."""

    def doubt(self, others: Mapping[str, str]) -> None:
        """Nothing to doubt."""


class Lists:
    """What the lists of others mean for this node's."""

    def __init__(self, listed: Listed) -> None:
        self.listed = listed
        self.is_settled = True
        """This node may go by its list: no other one goes by another, nor, as far as is clear, to other servers by
        it."""
        self._splits: dict[tuple[str, str, str, str], int] = {}
        """Looks in a row in which a node's life, by a name, reached not this one's server but that."""

    def look(self, me: Node, others: Sequence[Node]) -> None:
        """`others`: as one look at the beats found them."""
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
    """Whether its list goes before this node's: a newer one, or of two under one version the elder node's."""
    if not mine or not node.servers or mine == node.servers:
        return False
    version, its = int(mine.split()[0]), int(node.servers.split()[0])
    return its > version or (its == version and _is_elder(node, me))


def _is_elder(node: Node, me: Node) -> bool:
    return (node.started_ms, node.name) < (me.started_ms, me.name)
