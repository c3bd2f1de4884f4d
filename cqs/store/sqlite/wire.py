"""Jobs and their results as bytes, between the server and its writer process.

    to the writer      marshal of [job, …]
    back               marshal of (wal pages, is the ballast spent, why it fails, None or pickle of [result, …])

                       job = (APPEND, storage id, [fields of a message, …], [claim, …])
                             (DELETE, [address, …])   (LEASES, [fields of a lease, …])   (OTHER, pickle)

Both ends are the same program on the same Python, one the child of the other, so nothing here is versioned or checked.
The three jobs of the hot path are flat tuples for `marshal`, at 0.7 µs a message (1 KiB) where pickle takes 4.6; the
others are rare. None for the results means that every job succeeded without a result, as in nearly every commit.
"""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import astuple

from cqs.message import Attribute, Message
from cqs.store.interface import Lease
from cqs.store.sqlite.jobs import Append, Delete, Job, Leases
from cqs.store.windows import Held

_APPEND, _DELETE, _LEASES, _OTHER = range(4)
_FIELDS = Message.__struct_fields__
_ATTRIBUTES = _FIELDS.index("attributes")


class Reply(NamedTuple):
    """The results of a batch, and the writer's state after it."""

    wal_pages: int
    is_ballast_spent: bool
    failing: str
    results: Sequence[object] | None
    """None: every result is None."""


def pack_jobs(jobs: Sequence[Job]) -> bytes:
    """Raises pickle.PicklingError for work that is not a module-level function."""
    return marshal.dumps([_flat(job) for job in jobs])


def unpack_jobs(data: bytes) -> list[Job]:
    """The inverse of `pack_jobs`."""
    return [_job(flat) for flat in marshal.loads(data)]


def pack_reply(reply: Reply) -> bytes:
    """Packs None for the results when all of them are None."""
    results = reply.results
    is_any = results is not None and any(result is not None for result in results)
    return marshal.dumps((*reply[:-1], pickle.dumps(list(results or ())) if is_any else None))


def unpack_reply(data: bytes) -> Reply:
    """The inverse of `pack_reply`."""
    wal_pages, is_ballast_spent, failing, results = marshal.loads(data)
    return Reply(wal_pages, is_ballast_spent, failing, None if results is None else pickle.loads(results))


def _flat(job: Job) -> tuple[Any, ...]:
    if isinstance(job, Append):
        claims = [(key, astuple(held)) for key, held in job.claims]
        return _APPEND, job.storage_id, [_fields(message) for message in job.messages], claims
    if isinstance(job, Delete):
        return _DELETE, list(job.addresses)
    if isinstance(job, Leases):
        return _LEASES, [astuple(lease) for lease in job.leases]
    return _OTHER, pickle.dumps(job)


def _fields(message: Message) -> tuple[Any, ...]:
    fields = astuple(message)
    if not message.attributes:
        return fields
    attributes = tuple(astuple(attribute) for attribute in message.attributes)
    return *fields[:_ATTRIBUTES], attributes, *fields[_ATTRIBUTES + 1 :]


def _job(flat: tuple[Any, ...]) -> Job:
    kind = flat[0]
    if kind == _APPEND:
        _, storage_id, messages, claims = flat
        return Append(
            storage_id, [_message(fields) for fields in messages], [(key, Held(*held)) for key, held in claims]
        )
    if kind == _DELETE:
        return Delete(flat[1])
    if kind == _LEASES:
        return Leases([Lease(*fields) for fields in flat[1]])
    job: Job = pickle.loads(flat[1])
    return job


def _message(fields: tuple[Any, ...]) -> Message:
    members = dict(zip(_FIELDS, fields, strict=True))
    if members["attributes"]:
        members["attributes"] = tuple(Attribute(*attribute) for attribute in members["attributes"])
    return Message(**members)
