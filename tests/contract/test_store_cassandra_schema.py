"""`cqs schema apply` on a keyspace that is empty, incomplete or of another version, and servers that find it so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cqs.errors import StoreUnavailable
from cqs.store.cassandra import Options, schema
from tests.contract.cassandra_home import OnCassandra, ask, why_not
from tests.needs import needs

_GRACE_OF = "SELECT gc_grace_seconds FROM system_schema.tables WHERE keyspace_name = 'earlier' AND table_name = %s"


@needs("java", "mvn")
@pytest.mark.slow
class TestSchema(OnCassandra):
    async def test_a_keyspace_without_tables_is_told_with_the_remedy(self, keyspace: Options) -> None:
        text = await why_not(replace(keyspace, keyspace="nothing_here"))

        assert text.endswith("has no schema in keyspace nothing_here: run `cqs schema apply`.")

    async def test_a_schema_of_another_version_is_refused(self, keyspace: Options) -> None:
        await ask(keyspace, "UPDATE meta SET value = '99' WHERE name = 'schema_version' IF EXISTS")
        try:
            text = await why_not(keyspace)
            with pytest.raises(StoreUnavailable):
                await schema.apply(keyspace, {})
        finally:
            undo = f"UPDATE meta SET value = '{schema.VERSION}' WHERE name = 'schema_version' IF EXISTS"
            await ask(keyspace, undo)

        assert "schema version 99" in text
        assert f"needs version {schema.VERSION}" in text

    async def test_a_schema_is_applied_once(self, keyspace: Options) -> None:
        assert await schema.apply(keyspace, {}) == "already in place"

    async def test_copies_of_a_schema_that_is_in_place_are_left_to_the_operator(self, keyspace: Options) -> None:
        assert await schema.apply(keyspace, {"dc1": 3}) == "already in place"

    async def test_an_interrupted_apply_goes_on_where_it_stopped(self, keyspace: Options) -> None:
        options = replace(keyspace, keyspace="interrupted")
        await schema.apply(options, {"dc1": 1})
        await ask(options, "DROP TABLE receives", "DELETE FROM meta WHERE name = 'schema_version' IF EXISTS")

        done = await schema.apply(options, {"dc1": 1})

        assert done == "created"
        assert await ask(options, "SELECT * FROM receives") == []
        await ask(options, "DROP KEYSPACE interrupted")

    async def test_a_keyspace_of_an_earlier_version_is_updated_but_for_what_its_operator_set(
        self, keyspace: Options
    ) -> None:
        options = replace(keyspace, keyspace="earlier")
        await schema.apply(options, {"dc1": 1})
        graces = ("ALTER TABLE dirty_marks WITH gc_grace_seconds = 14400", "ALTER TABLE news WITH gc_grace_seconds = 7")
        await ask(options, "DROP TABLE receives", *graces)

        refusal = await why_not(options)
        done = [await schema.apply(options, {}) for _ in range(2)]

        found = {
            name: [row[0] for row in await ask(options, _GRACE_OF, values=(name,))] for name in ("dirty_marks", "news")
        }
        await ask(options, "DROP KEYSPACE earlier")
        assert "has no table receives: run `cqs schema apply`" in refusal
        assert done == ["updated", "already in place"]
        assert found == {"dirty_marks": [60], "news": [7]}

    @pytest.mark.parametrize(
        ("replicas", "words"),
        [
            ({"dc1' : 1}; --": 1}, "There is no data centre dc1' .*, only dc1"),
            ({"dc1": 1, "dc9": 1}, "There is no data centre dc9, only dc1"),
            ({"dc1": 3}, "--replicas dc1=3: the data centre has 1 node"),
        ],
    )
    async def test_copies_that_cannot_be_had_are_told_before_anything_is_made(
        self, keyspace: Options, replicas: dict[str, int], words: str
    ) -> None:
        with pytest.raises(StoreUnavailable, match=words):
            await schema.apply(replace(keyspace, keyspace="odd"), replicas)

        made = await ask(replace(keyspace, keyspace="system"), "SELECT keyspace_name FROM system_schema.keyspaces")
        assert ("odd",) not in [tuple(row) for row in made]

    async def test_other_copies_than_the_keyspace_has_are_not_passed_over(self, keyspace: Options) -> None:
        options = replace(keyspace, keyspace="copied")
        await ask(
            replace(keyspace, keyspace="system"),
            "CREATE KEYSPACE copied WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 3}",
        )
        try:
            with pytest.raises(StoreUnavailable, match=r"different replication \(dc1=3\): change that"):
                await schema.apply(options, {"dc1": 1})
        finally:
            await ask(replace(keyspace, keyspace="system"), "DROP KEYSPACE copied")

    async def test_a_data_centre_that_is_not_there_is_named(self, keyspace: Options) -> None:
        text = await why_not(replace(keyspace, datacenter="dc9"))

        assert "data centre dc9: no node answers" in text
