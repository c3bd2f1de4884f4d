"""Cases that could wrongly be called proven or wrongly be called violations. Each is played in its own queue, all into
one journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from cqs.cache.interface import Received
from spark_jobs.verdict import State
from tests.spark.golden import VISIBILITY_MS, Golden
from tests.spark.streams import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


HOUR_MS = 3_600_000
SENDS = 4


class Played:
    """The queues, and the results of batch and streaming audit for each."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        from spark_jobs.audit import Rules, audit

        golden = self.golden = Golden(folder / "journal", seed=31)
        self._held()
        self._gone("deleted", is_purge=False)
        self._gone("purged", is_purge=True)
        self._repeated()
        self._moved()
        self._dead()
        self._told_late()
        self._doubtful()
        self._answered()
        golden.close()
        rules = Rules(has_all_nodes=True)
        self.audit = audit(spark, [str(folder / "journal")], str(folder / "audit"), rules)
        self.streamed = run(spark, folder / "journal", output=folder / "live")
        self.queues: dict[str, dict[str, Any]] = {row["queue"]: row for row in self.audit.tables["queues"]}

    def _held(self) -> None:
        golden, queue = self.golden, self.golden.queue("held")
        for message in golden.send(queue, SENDS):
            golden.receive(queue, message)
        golden.tick(2 * VISIBILITY_MS)

    def _gone(self, name: str, *, is_purge: bool) -> None:
        """Messages sent before, right after, and an hour after the queue was deleted."""
        golden, queue = self.golden, self.golden.queue(name)
        golden.send(queue, SENDS)
        if is_purge:
            golden.node.purged(msgspec.structs.replace(queue, generation=1))
        else:
            golden.node.queue_deleted(queue)
        golden.send(queue, SENDS)
        golden.tick(HOUR_MS)
        golden.send(queue, SENDS)

    def _repeated(self) -> None:
        """A duplicate of an existing message, and one of a message that never existed."""
        golden, queue = self.golden, self.golden.queue("repeated.fifo")
        [there] = golden.send(queue, 1, "g")
        golden.consume(queue, there)
        golden.node.deduplicated(queue, [there.address, golden.message(queue, "g").address])

    def _moved(self) -> None:
        """A message whose body differs after the move, and one that is delivered again from the old queue."""
        golden, source, target = self.golden, self.golden.queue("source"), self.golden.queue("target")
        garbled, twice = golden.send(source, 2)
        golden.consume(source, golden.send(source, 1)[0])
        golden.move(source, target, msgspec.structs.replace(garbled, body="garbled"))
        golden.move(source, target, twice)
        golden.tick()
        golden.receive(source, twice)

    def _dead(self) -> None:
        """A take finds that the first message of the group is a dead letter and returns the second; then the same with
        an expired one. The first message's end is recorded once it is done."""
        golden, queue, target = self.golden, self.golden.queue("dying.fifo"), self.golden.queue("dead.fifo")
        node, other = golden.journals
        golden.journals = [node]
        dead, second, old, fourth = golden.send(queue, 4, "g")
        golden.receive(queue, dead)
        golden.tick(VISIBILITY_MS)
        taken_ms = golden.clock.now_ms()
        golden.tick(5)
        moved = msgspec.structs.replace(dead, address=golden.addresses.next(), moved_id=dead.message_id)
        node.moved(queue, target, [(dead.address, moved)])
        node.received(queue, [_taken(second, taken_ms)], is_from_store=False)
        golden.delete(queue, second)
        golden.consume(queue, fourth)
        golden.tick(5)
        node.expired(queue, [old.address])
        golden.consume(target, moved)
        golden.journals = [node, other]

    def _told_late(self) -> None:
        """Events are recorded after the cache has answered: a delete, when the next message is already taken; and a
        send whose message another node has already delivered and deleted."""
        golden, queue = self.golden, self.golden.queue("late.fifo")
        ours, theirs = golden.journals
        first, second = golden.send(queue, 2, "g")
        golden.receive(queue, first)
        begun_ms = golden.clock.now_ms()
        golden.receive(queue, second)
        golden.tick(5)
        ours.deleted(queue, [first.address], begun_ms)
        theirs.deleted(queue, [second.address])
        third = golden.message(queue, "g")
        golden.consume(queue, third)
        golden.tick(5)
        ours.sent(queue, [third])
        golden.consume(queue, *golden.send(queue, 1, "g"))

    def _doubtful(self) -> None:
        """A delete got no response, and the message was gone."""
        golden, queue = self.golden, self.golden.queue("doubtful.fifo")
        first, second = golden.send(queue, 2, "g")
        golden.receive(queue, first)
        golden.tick()
        golden.node.doubtful(queue, [first.address])
        golden.consume(queue, second)
        golden.delete(queue, first)

    def _answered(self) -> None:
        """Two sends have unknown outcomes, and their repeats are answered. One message waits, one is held."""
        golden, queue = self.golden, self.golden.queue("answered.fifo")
        golden.consume(queue, *golden.send(queue, 1, "g"))
        for message in (held := golden.message(queue, "g"), golden.message(queue, "h")):
            golden.node.doubtful(queue, [message.address])
            golden.tick()
            golden.node.deduplicated(queue, [message.address])
        golden.receive(queue, held)


def _taken(message: Any, taken_ms: int) -> Received:
    return Received(
        address=message.address,
        sent_ms=message.sent_ms,
        group=message.group,
        sequence=message.sequence,
        message=message,
        receive_count=1,
        first_receive_ms=taken_ms,
        receive_number=1_000,
        received_ms=taken_ms,
        hidden_until_ms=taken_ms + VISIBILITY_MS,
    )


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return Played(spark, tmp_path_factory.mktemp("wrong"))


def test_what_was_received_and_has_no_end_is_told(played: Played) -> None:
    assert played.queues["held"]["held"] == SENDS
    assert any(reason.startswith(f"{SENDS + 1} messages were received and never deleted") for reason in told(played))
    assert any("received and never deleted" in reason for reason in played.streamed["verdict"]["reasons"])


@pytest.mark.parametrize("name", ["deleted", "purged"])
def test_what_was_sent_an_hour_after_its_queue_went_did_not_go_with_it(played: Played, name: str) -> None:
    streamed = {row["queue"]: row for row in played.streamed["queues"]}

    assert (played.queues[name]["ended_otherwise"], played.queues[name]["not_received"]) == (2 * SENDS, SENDS)
    assert (streamed[name]["ended_otherwise"], streamed[name]["waiting"]) == (2 * SENDS, SENDS)


def test_repeat_of_a_message_that_there_never_was_is_a_violation(played: Played) -> None:
    assert played.queues["repeated.fifo"]["never_stored"] == 1
    assert "1 send was answered with the id of a message that nobody sent" in told(played)
    assert played.streamed["totals"]["never_stored"] == 1


def test_body_that_changed_on_the_way_to_another_queue_is_found(played: Played) -> None:
    assert (played.queues["source"]["corrupted"], played.queues["target"]["corrupted"]) == (1, 0)
    assert played.streamed["totals"]["corrupted"] == 1


def test_message_that_comes_from_the_queue_that_it_left_is_found(played: Played) -> None:
    assert played.queues["source"]["resurrected"] == 1
    assert played.streamed["totals"]["resurrected"] == 1


def test_message_behind_a_dead_or_an_expired_one_overtakes_nothing(played: Played) -> None:
    assert (played.queues["dying.fifo"]["acknowledged"], played.queues["dying.fifo"]["fifo_order"]) == (4, 0)
    assert played.streamed["totals"]["fifo_order"] == 0
    assert played.audit.totals.found is not None
    assert not {"fifo order", "fifo two consumers", "hidden too short"} & set(played.audit.totals.found)


@pytest.mark.parametrize("name", ["late.fifo", "doubtful.fifo"])
def test_message_behind_one_of_which_the_end_is_told_late_overtakes_nothing(played: Played, name: str) -> None:
    streamed = {row["queue"]: row for row in played.streamed["queues"]}

    for figures in (played.queues, streamed):
        assert [figures[name][kind] for kind in ("fifo_order", "fifo_two_consumers")] == [0, 0]


def test_message_of_an_answered_repeat_may_wait_and_has_no_end_when_it_is_held(played: Played) -> None:
    [batch, streamed] = (
        next(row for row in rows if row["queue"] == "answered.fifo")
        for rows in (played.audit.tables["queues"], played.streamed["queues"])
    )

    assert (batch["never_stored"], batch["not_received"], batch["held"]) == (0, 1, 1)
    assert (streamed["never_stored"], streamed["held"]) == (0, 1)


def told(played: Played) -> tuple[str, ...]:
    assert played.audit.verdict.state is State.VIOLATED
    return played.audit.verdict.reasons
