"""What the journal writes for each event, and what it does on overload or a failing disk."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
from collections import Counter
from pathlib import Path
from zlib import crc32

import msgspec
import pytest

from cqs.cache.interface import Received
from cqs.events import EventName
from cqs.ids import text_of
from cqs.journal.buffer import LINES_MAX
from cqs.journal.files import files_of
from cqs.message import Attribute, Message
from cqs.receipt import Receipt
from tests.unit.journal_bench import QUEUE, JournalBench


@pytest.fixture
def bench(tmp_path: Path) -> JournalBench:
    return JournalBench(tmp_path / "journal")


def receive_of(message: Message, number: int = 1) -> Received:
    return Received(
        address=message.address,
        sent_ms=message.sent_ms,
        group="g",
        sequence=3,
        message=message,
        receive_count=1,
        first_receive_ms=5,
        receive_number=number,
        received_ms=5,
        hidden_until_ms=30_005,
    )


def test_sent_message_is_told_with_checksum_and_what_its_sender_says_of_itself(bench: JournalBench) -> None:
    attributes = (
        Attribute("cqs.run", "String", b"run-1"),
        Attribute("cqs.sender", "String", b"s-4"),
        Attribute("cqs.index", "Number", b"17"),
    )
    message = msgspec.structs.replace(bench.message("grüße"), attributes=attributes, group="tenant-a")

    bench.journal.sent(QUEUE, [message])
    bench.flush()

    line = bench.lines()[1]
    assert (line.event, line.queue, line.account, line.uid) == (EventName.SENT, "orders", "000000000000", 7)
    assert line.address == text_of(message.address)
    assert line.md5 == hashlib.md5("grüße".encode()).hexdigest()
    assert (line.bytes, line.tenant) == (7, "tenant-a")
    assert (line.run, line.sender, line.index) == ("run-1", "s-4", 17)


@pytest.mark.parametrize("text", ["-1", "1e3", "", "٣", "9" * 30])
def test_send_index_that_is_no_number_is_left_out(bench: JournalBench, text: str) -> None:
    attributes = (Attribute("cqs.index", "String", text.encode()),)

    bench.journal.sent(QUEUE, [msgspec.structs.replace(bench.message(), attributes=attributes)])
    bench.flush()

    assert bench.lines()[1].index == -1


def test_what_clients_choose_is_quoted(bench: JournalBench) -> None:
    hostile = 'a"b\\c\n{}\u2028ü'
    attributes = (Attribute("cqs.sender", "String", hostile.encode()), Attribute("cqs.run", "Binary", b"\xff\x00"))
    message = msgspec.structs.replace(bench.message(), group=hostile, sender_id=hostile, attributes=attributes)

    bench.journal.sent(QUEUE, [message])
    bench.journal.received(QUEUE, [receive_of(message)], is_from_store=False, receiver_id=hostile)
    bench.flush()

    sent, received = bench.lines()[1:]
    assert (sent.tenant, sent.sender_id, sent.sender, sent.run) == (hostile, hostile, hostile, "\ufffd\x00")
    assert received.receiver_id == hostile


def test_messages_received_together_share_their_call(bench: JournalBench) -> None:
    one, two = bench.message("1"), bench.message("2")

    bench.journal.received(QUEUE, [receive_of(one, 1), receive_of(two, 2)], is_from_store=False, receiver_id="r-1")
    bench.journal.received(QUEUE, [receive_of(one, 3)], is_from_store=True)
    bench.flush()

    first, second, third = bench.lines()[1:]
    assert (first.call, second.call, third.call) == (2, 2, 4)
    assert (first.event, third.event) == (EventName.RECEIVED, EventName.FROM_STORE)
    assert (first.receiver_id, first.receive_number, first.hidden_until_ms) == ("r-1", 1, 30_005)
    assert second.md5 == hashlib.md5(b"2").hexdigest()


def test_every_event_has_its_line(bench: JournalBench) -> None:
    journal, message = bench.journal, bench.message()
    target = msgspec.structs.replace(QUEUE, name="dead", uid=8)

    journal.deduplicated(QUEUE, [message.address])
    journal.doubtful(QUEUE, [message.address])
    journal.given_back(QUEUE, [receive_of(message)])
    journal.hidden(QUEUE, Receipt(message.address, QUEUE.uid, 3, 7), 99)
    journal.deleted(QUEUE, [message.address], 98)
    journal.expired(QUEUE, [message.address])
    journal.revealed(QUEUE, 5)
    journal.moved(QUEUE, target, [(message.address, bench.message("moved"))])
    journal.purged(QUEUE)
    journal.queue_deleted(QUEUE)
    bench.flush()

    names = [
        "opened",
        "deduplicated",
        "doubtful",
        "given_back",
        "hidden",
        "deleted",
        "expired",
        "revealed",
        "moved",
        "purged",
        "queue_deleted",
    ]
    assert bench.names() == names
    by_name = {line.event.value: line for line in bench.lines()}
    hidden = by_name["hidden"]
    assert (hidden.receive_number, hidden.received_ms, hidden.hidden_until_ms) == (3, 7, 99)
    assert by_name["deleted"].begun_ms == 98
    assert by_name["revealed"].count == 5
    assert (by_name["moved"].to_queue, by_name["moved"].to_uid) == ("dead", 8)
    assert by_name["moved"].md5 == hashlib.md5(b"moved").hexdigest()


def test_empty_receives_are_added_up(bench: JournalBench) -> None:
    for _ in range(5):
        bench.journal.received_nothing(QUEUE)
    last_ms = bench.clock.now_ms()
    bench.clock.advance_ms(1_000)
    bench.journal.received_nothing(QUEUE)
    bench.journal.finish()

    told = [(line.count, line.received_ms) for line in bench.lines() if line.event is EventName.RECEIVED_NOTHING]
    assert told == [(5, last_ms), (1, last_ms + 1_000)]


def test_numbers_have_no_gap_and_the_closing_line_counts_and_checks(bench: JournalBench) -> None:
    bench.send("1", "2", "3")
    bench.flush()
    bench.send("4")
    bench.journal.finish()

    lines = bench.lines()
    assert [line.number for line in lines] == [1, 2, 3, 4, 5, 6]
    closed = lines[-1]
    assert (closed.event, closed.count, closed.counts) == (EventName.CLOSED, 5, {"opened": 1, "sent": 4})
    [file] = files_of(bench.folder)
    raw = gzip.decompress(file.path.read_bytes()).splitlines()
    assert closed.checksum == sum(map(crc32, raw[:-1]))


def test_sampling_keeps_all_of_a_message_or_nothing(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path, sample_every=10)
    messages = bench.send(*["x"] * 1_000)
    bench.journal.deleted(QUEUE, [message.address for message in messages])
    bench.journal.finish()

    lines = bench.lines()
    sent = {line.address for line in lines if line.event is EventName.SENT}
    assert sent == {line.address for line in lines if line.event is EventName.DELETED}
    assert 50 < len(sent) < 200
    assert lines[0].sampled == 10
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))


def test_what_the_buffer_has_no_room_for_is_counted_and_told(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path, buffer_bytes_max=110 * LINES_MAX)
    for _ in range(3):
        bench.send(*["x"] * LINES_MAX)
    bench.send("e")
    bench.flush()
    bench.send("f")
    bench.flush()

    told = Counter(bench.names())
    assert (told["sent"] + bench.journal.dropped, bench.journal.dropped) == (3 * LINES_MAX + 2, LINES_MAX)
    assert [line.count for line in bench.lines() if line.event is EventName.DROPPED_EVENTS] == [LINES_MAX]
    assert bench.names()[-3:] == ["dropped_events", "sent", "sent"]


def test_what_can_not_be_packed_is_counted_and_fails_nobody(
    bench: JournalBench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.send("before")
    bench.journal.revealed(QUEUE, object())  # type: ignore[arg-type]
    bench.send("after")
    bench.flush()
    bench.send("x")
    bench.flush()

    assert bench.names() == ["opened", "dropped_events", "sent", "sent", "sent"]
    assert bench.journal.dropped == 1
    assert "journal_call_unfit" in capsys.readouterr().out


def test_full_disk_loses_whole_lines_and_says_how_many(bench: JournalBench, monkeypatch: pytest.MonkeyPatch) -> None:
    real_write, room = os.write, [100]

    def write_until_full(fd: int, data: bytes) -> int:
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real_write(fd, data[: room[0]])
        room[0] -= written
        return written

    bench.send("kept")
    bench.flush()
    monkeypatch.setattr("cqs.journal.writer.os.write", write_until_full)
    bench.send("lost", "lost too")
    bench.flush()
    bench.send("while it is full")
    bench.flush()
    monkeypatch.undo()
    bench.clock.advance_ms(1_000)
    bench.send("kept again")
    bench.journal.finish()

    assert bench.names() == ["opened", "sent", "opened", "dropped_events", "sent", "closed"]
    lines = bench.lines()
    assert [line.number for line in lines] == [1, 2, 3, 4, 5, 6]
    assert lines[3].count == 3
    report = bench.journal.writing.report()
    assert (report.lines, report.lost) == (5, 3)
    notes = [(level, event) for level, event, _ in report.notes]
    assert notes == [("error", "journal_write_failed"), ("warning", "journal_events_dropped")]


def test_text_that_is_no_unicode_is_told_as_well_as_it_goes(bench: JournalBench) -> None:
    bench.journal.sent(QUEUE, [msgspec.structs.replace(bench.message(), sender_id="a\ud800b", group="\udfff")])
    bench.flush()

    sent = bench.lines()[1]
    assert (sent.sender_id, sent.tenant) == ("a?b", "?")
