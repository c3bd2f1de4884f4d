"""A node's journal without the others': events that the others may explain are violations only if all journals are
there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from cqs.journal.files import files_of
from spark_jobs.verdict import State
from tests.spark.golden import Golden

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.audit import Audit


SIGNS = ("unsent", "unreceived", "untaken", "silent")


class Pair:
    """Nodes a and b on one queue. `here`: the folder with the journal of a only."""

    def __init__(self, folder: Path) -> None:
        self.whole, self.here = folder / "whole", folder / "here"
        self.golden = Golden(self.whole, seed=12)
        self.a, self.b = self.golden.journals
        self.orders = self.golden.queue("orders")

    def unsent(self) -> None:
        self._by("b")
        theirs = self.golden.send(self.orders, 1)
        self._by("a")
        self.golden.send(self.orders, 1)
        self.golden.consume(self.orders, *theirs)

    def unreceived(self) -> None:
        self._by("a")
        first, _ = self.golden.send(self.orders, 2)
        self.golden.node.received_nothing(self.orders)
        self._by("b")
        self.golden.receive(self.orders, first)
        self._by("a")
        self.golden.delete(self.orders, first)

    def untaken(self) -> None:
        self._by("a")
        first, second, third, _ = self.golden.send(self.orders, 4)
        self.golden.consume(self.orders, first)
        self._by("b")
        self.golden.consume(self.orders, second)
        self._by("a")
        self.golden.consume(self.orders, third)

    def silent(self) -> None:
        self._by("a")
        first, _ = self.golden.send(self.orders, 2)
        self._by("b")
        self.golden.consume(self.orders, first)

    def close(self) -> None:
        self.golden.journals = [self.a, self.b]
        self.golden.close()
        self.here.mkdir()
        for file in files_of(self.whole):
            if "node-a" in file.path.name:
                shutil.copy(file.path, self.here)

    def _by(self, node: str) -> None:
        self.golden.journals = [self.a if node == "a" else self.b]


def audited(spark: SparkSession, folder: Path, *, has_all_nodes: bool = False) -> Audit:
    from spark_jobs.audit import Rules, audit

    rules = Rules(is_drained=True, has_all_nodes=has_all_nodes)
    return audit(spark, [str(folder)], f"{folder}-audit", rules)


def test_loss_that_another_node_may_explain_is_unproven(spark: SparkSession, tmp_path: Path) -> None:
    """A queue for each sign, which it has once, and no other sign."""
    pair = Pair(tmp_path)
    for sign in SIGNS:
        pair.orders = pair.golden.queue(sign)
        getattr(pair, sign)()
    pair.close()

    found = audited(spark, pair.here)

    assert found.totals.signs == dict.fromkeys(SIGNS, 1)
    assert (found.verdict.state, found.verdict.lost) == (State.UNPROVEN, None)


def test_loss_is_a_violation_with_the_journals_of_all_nodes(spark: SparkSession, tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    pair.untaken()
    pair.close()

    whole, told = audited(spark, pair.whole), audited(spark, pair.here, has_all_nodes=True)

    assert (whole.verdict.state, whole.verdict.lost, set((whole.totals.signs or {}).values())) == (
        State.VIOLATED,
        1,
        {0},
    )
    assert (told.verdict.state, told.verdict.lost) == (State.VIOLATED, 2)
