"""Jobs and results of the SQLite writer process survive encoding and decoding."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

import msgspec
import pytest

from cqs.errors import DataInUse, OutcomeUnknown, StoreUnavailable
from cqs.message import Attribute, Message
from cqs.store.interface import Lease, Move
from cqs.store.sqlite.jobs import Append, Checkpoint, Delete, Job, Leases, Relocate, Trim, Work
from cqs.store.sqlite.wire import Reply, pack_jobs, pack_reply, unpack_jobs, unpack_reply
from cqs.store.windows import Held

PLAIN = Message(address=(1 << 122) - 1, body="hello", sent_ms=1)
FULL = Message(
    address=1 << 80,
    body="z\u00e9 \U0001f600 \x00 \n",
    sent_ms=2,
    visible_ms=3,
    sender_id="000000000001",
    attributes=(Attribute("a", "Binary.x", b"\x00\xff"), Attribute("b", "Number", b"1")),
    trace_header="Root=1",
    group="g",
    dedup_id="d",
    sequence=1 << 70,
    moved_id="m",
    md5=b"0" * 16,
    source_arn="arn",
    earlier_receives=4,
    earlier_first_ms=5,
)


def there_and_back(*jobs: Job) -> list[Job]:
    return unpack_jobs(pack_jobs(jobs))


@pytest.mark.parametrize(
    "job",
    [
        Append(5, [PLAIN, FULL], [((5, "scope", "id"), Held(1 << 100, 7, 8))]),
        Append(5, [msgspec.structs.replace(PLAIN, body="lone \ud800")], []),
        Delete([1, 1 << 121]),
        Leases([Lease(1 << 121, 2, 3, 4, 5)]),
        Relocate(1, 2, [Move(3, FULL)]),
        Checkpoint(),
        Trim(9),
    ],
    ids=lambda job: type(job).__name__,
)
def test_a_job_comes_back_as_it_was(job: Job) -> None:
    assert there_and_back(job) == [job]


def test_jobs_keep_their_order() -> None:
    jobs: list[Job] = [Delete([1]), Append(1, [PLAIN], []), Delete([2]), Trim(1)]

    assert there_and_back(*jobs) == jobs


def test_work_goes_by_the_name_of_its_function() -> None:
    (job,) = there_and_back(Work(partial(dict, a=1), 7))

    assert isinstance(job, Work)
    assert (job.run.func, job.run.keywords, job.wal_pages) == (dict, {"a": 1}, 7)  # type: ignore[attr-defined]


def test_every_field_of_a_message_has_its_place() -> None:
    (job,) = there_and_back(Append(1, [FULL], []))

    assert isinstance(job, Append)
    for name in Message.__struct_fields__:
        assert attrgetter(name)(job.messages[0]) == attrgetter(name)(FULL), name


@pytest.mark.parametrize(
    "results",
    [[None, OutcomeUnknown("x"), [PLAIN]], [StoreUnavailable("full")], [True], [("a", 1), None]],
    ids=["mixed", "failed", "a result", "a tuple"],
)
def test_results_come_back(results: list[object]) -> None:
    reply = unpack_reply(pack_reply(Reply(7, True, "why", results)))

    assert reply[:3] == (7, True, "why")
    assert [(type(one), str(one)) for one in reply.results or ()] == [(type(one), str(one)) for one in results]


def test_a_batch_without_results_has_none() -> None:
    assert unpack_reply(pack_reply(Reply(0, False, "", [None, None]))).results is None


def test_an_error_with_a_text_of_its_own_making_is_not_lost() -> None:
    (error,) = unpack_reply(pack_reply(Reply(0, False, "", [DataInUse("/data", "1")]))).results or ()

    assert isinstance(error, StoreUnavailable)
    assert str(error) == str(DataInUse("/data", "1"))
