"""What a keyspace that an earlier version made lacks."""

from __future__ import annotations

import re

import pytest

from cqs.store.cassandra.schema import outstanding, table_statements

GRACE = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+)|gc_grace_seconds = (\d+)")
DEFAULT_GRACE = 864_000


def graces_of_today() -> dict[str, int]:
    """gc_grace_seconds of the tables as `cqs schema apply` creates them."""
    found: dict[str, int] = {}
    for text in table_statements():
        matches = [match.groups() for match in GRACE.finditer(text)]
        (table, _), *rest = matches
        found[table] = int(rest[0][1]) if rest else DEFAULT_GRACE
    return found


def test_a_keyspace_of_today_lacks_nothing() -> None:
    assert outstanding(graces_of_today()) == []


def test_a_table_that_is_missing_is_created() -> None:
    graces = graces_of_today()
    del graces["homes"]

    (statement,) = outstanding(graces)

    assert statement.startswith("CREATE TABLE IF NOT EXISTS homes (")


@pytest.mark.parametrize(("grace", "count"), [(14_400, 1), (60, 0), (3_600, 0)])
def test_a_value_of_an_earlier_version_is_changed_and_that_of_an_operator_is_not(grace: int, count: int) -> None:
    statements = outstanding(graces_of_today() | {"dirty_marks": grace})

    assert statements == ["ALTER TABLE dirty_marks WITH gc_grace_seconds = 60"][:count]
