"""The error table is complete, and SDKs can parse every entry."""

from __future__ import annotations

import pytest

from cqs import errors
from cqs.api import wire_errors
from cqs.api.error_table import TABLE, UNAVAILABLE, WireError, wire_error

ABSTRACT = {wire_errors.HttpError}


def subclasses(kind: type[errors.SqsError]) -> set[type[errors.SqsError]]:
    return {kind}.union(*(subclasses(one) for one in kind.__subclasses__()))


CONCRETE = sorted(
    (kind for kind in subclasses(errors.SqsError) - {errors.SqsError} - ABSTRACT if kind.__module__.startswith("cqs.")),
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", CONCRETE, ids=lambda kind: kind.__name__)
def test_every_error_has_an_entry_of_its_own(kind: type[errors.SqsError]) -> None:
    assert kind in TABLE


@pytest.mark.parametrize("entry", TABLE.values(), ids=lambda entry: entry.query_code)
def test_entry_is_readable_for_sdks(entry: WireError) -> None:
    namespace, _, name = entry.json_type.partition("#")

    assert namespace in ("com.amazonaws.sqs", "com.amazon.coral.service")
    assert name.isalnum()
    assert ";" not in entry.query_code, "boto3 splits the header at it"
    assert entry.is_sender == (400 <= entry.status < 500)


def test_error_without_an_entry_is_told_as_the_nearest_above_it() -> None:
    class NarrowerOverLimit(errors.OverLimit):
        pass

    assert wire_error(NarrowerOverLimit("x")) == TABLE[errors.OverLimit]
    assert wire_error(errors.SqsError("x")) == UNAVAILABLE


def test_nothing_is_ever_a_500() -> None:
    assert {entry.status for entry in TABLE.values() if entry.status >= 500} == {503}
